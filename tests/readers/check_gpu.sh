#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A training loop on the fake GPU: the TensorBoard plugin, HolisticTraceAnalysis, Perfetto
# and chrome://tracing show what the program did, to the nanosecond, in both dialects.
# run: timeout 600
set -eu
here=tests/readers
python=$BUILD/venv/bin/python
work=$BUILD/readers/gpu
version=${FAKE:-13.0}
durations=gemm=61000,bias=7000,relu=9000,relu_back=11000,mean=5000,fill=4000,sgd=13000
durations=$durations,scale=21000,longest=300000,nccl=83000
# A kernel's name is matched as the GPU has it: mangled.
FAKE_KERNELS=$(echo "$durations" | tr ',' '\n' |
	sed -n 's/^nccl=\(.*\)/*nccl*=\1/p; t; s/^\([a-z_]*\)=\(.*\)/\1 \2/p' |
	while read -r name ns; do
		case $name in \*nccl*) echo "$name" ;; *) echo "_Z${#name}$name*=$ns" ;; esac
	done | paste -sd ,)
export FAKE_KERNELS

[ -d "$BUILD/fake/run-$version" ] || { echo "no fake CUDA $version"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
BUILD=$BUILD python3 -c "
import sys; sys.path.insert(0, 'tests/e2e')
import cuda; print(cuda.extension('$version'))" > "$work/extension"
for dialect in kineto tb043; do
	log=$work/$dialect
	LD_LIBRARY_PATH=$BUILD/fake/run-$version CUDA_TRUTH=$work/truth.$dialect \
		"$BUILD/proflaunch" --logdir "$log" --dialect $dialect \
		--marker 'torch:Optimizer.step*' --record-shapes \
		--schedule wait=1,warmup=1,active=4,repeat=1 -- \
		$python tests/e2e/progs/cuda_train.py "$(cat "$work/extension")" \
		--steps 8 --what nccl,graph,scratch > "$work/out" 2> "$work/err" ||
		{ cat "$work/err"; exit 1; }
	trace=$(find "$log" -maxdepth 1 -name '*.pt.trace.json')
	[ "$(echo "$trace" | wc -w)" = 1 ] || { echo "$dialect: $trace"; cat "$work/err"; exit 1; }
	pid=$(basename "$trace" | sed 's/^.*_\([0-9]*\)\.[0-9]*\.pt.*/\1/')
	python3 $here/strict.py "$trace"
	PYTHONPATH=$here $python $here/gpu_numbers.py "$trace" "$work/truth.$dialect.$pid" "$durations"
	rm -rf "$log/.proflaunch" "$log/children"
	[ $dialect != kineto ] || PYTHONPATH=$here $python $here/gpu_hta.py "$log"
done
# shellcheck disable=SC2046 - no blanks in these names
$python $here/viewers.py $(find "$work" -name '*.pt.trace.json')
