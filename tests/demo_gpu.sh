#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# demo_gpu.sh - the launcher on a CUDA program in C, on any machine: the GPU is a fake.
#
# DEMO_LOG names the log directory; without it ./log.  FAKE names the fake's CUDA version.
set -eu
fake=$(realpath "$BUILD/fake/run-${FAKE:-13.0}")
program=$BUILD/prog/cuda_train
log=${DEMO_LOG:-log}
seen() { find "$log" -maxdepth 1 -name '*.pt.trace.json*' 2> /dev/null | sort; }

mkdir -p "$(dirname "$program")"
${CC:-cc} -O2 -o "$program" examples/cuda_train.c "$(find -L "$fake" -name 'libcudart.so.*' | head -n 1)"
before=$(seen)
LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
	"$BUILD/proflaunch" --logdir "$log" --marker 'kernel:*update*' \
	--schedule wait=5,warmup=5,active=4,repeat=1 -- "$program" 20
echo
after=$(seen)
new=$(printf '%s\n%s\n' "$before" "$after" | sort | uniq -u | sed '/^$/d')
case $new in
*.pt.trace.json*.pt.trace.json*|*.gz|'')
	echo "demo: not one plain trace:" $new >&2
	exit 1 ;;
esac
exec python3 tests/readers/gpu_tell.py "$new"
