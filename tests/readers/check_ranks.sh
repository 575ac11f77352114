#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two ranks on the fake GPU, with gloo and with NCCL: the TensorBoard plugin's distributed
# view shows what their files say. (Of files with both libraries it shows none.)
# run: timeout 300
set -eu
here=tests/readers
python=$BUILD/venv/bin/python
work=$BUILD/readers/ranks
version=${FAKE:-13.0}
nccl_ns=83000
export FAKE_DEVICES=2 FAKE_KERNELS="*nccl*=$nccl_ns"

[ -d "$BUILD/fake/run-$version" ] || { echo "no fake CUDA $version"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
extension=$(BUILD=$BUILD python3 -c "
import sys; sys.path.insert(0, 'tests/e2e')
import cuda; print(cuda.extension('$version'))")

# ranks WHAT LIBRARY BYTES NS - train with WHAT; then gpu_ranks.py's arguments.
ranks() {
	LD_LIBRARY_PATH=$BUILD/fake/run-$version CUDA_TRUTH=$work/truth \
		"$BUILD/proflaunch" --logdir "$work/$2" --dialect tb043 --record-shapes \
		--marker 'torch:Optimizer.step*' --schedule wait=1,warmup=1,active=3,repeat=1 -- \
		$python -m torch.distributed.run --nproc_per_node=2 \
		--master_port $((20000 + $$ % 20000)) tests/e2e/progs/cuda_train.py "$extension" \
		--steps 6 --what "$1" > "$work/out" 2> "$work/err" ||
		{ cat "$work/err"; exit 1; }
	rm -rf "$work/$2/.proflaunch" "$work/$2/children"
	python3 $here/strict.py "$work/$2"/*.pt.trace.json
	PYTHONPATH=$here $python $here/gpu_ranks.py "$work/$2" "$2" "$3" "$4"
}

# Two gradients of floats: 64 x 32 and 16 x 64. NCCL's event is without shapes here.
ranks sum gloo $(((64 * 32 + 16 * 64) * 4)) 0
ranks nccl nccl 0 $nccl_ns
