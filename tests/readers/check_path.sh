#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program whose longest path is known: HTA's critical path through our file is that one.
# run: timeout 120
set -eu
here=tests/readers
python=$BUILD/venv/bin/python
work=$BUILD/readers/path
version=${FAKE:-13.0}

[ -d "$BUILD/fake/run-$version" ] || { echo "no fake CUDA $version"; exit 77; }
rm -rf "$work"
mkdir -p "$work"

# through LONGEST ALPHA BETA - milliseconds that the kernels take. They begin as soon as
# they are launched: to HTA a launch matters only where its stream is empty after it.
# A processor that is lost between a launch and its kernel makes a longer path: once is
# not wrong, three times is.
through() {
	for try in 1 2 3; do
		rm -rf "$work/$1"
		once "$@" && return
		echo "$1: try $try"
	done
	exit 1
}
once() {
	LD_LIBRARY_PATH=$BUILD/fake/run-$version \
		CUDART=$(find -L "$BUILD/fake/run-$version" -name 'libcudart.so.*' | head -n 1) \
		FAKE_LATENCY_NS=0 FAKE_KERNELS="*alpha*=${2}000000,*beta*=${3}000000,*gamma*=1000000" \
		"$BUILD/proflaunch" --logdir "$work/$1" --cuda-sync on \
		--schedule wait=1,active=4,repeat=1 -- "$BUILD/prog/cuda_work" path 6 \
		> "$work/out" 2> "$work/err" || { cat "$work/err"; return 1; }
	rm -rf "$work/$1/.proflaunch"
	PYTHONPATH=$here $python $here/gpu_path.py "$work/$1" "$1"
}

through beta 2 8
through alpha 4 1
