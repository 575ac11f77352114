#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# matrix_cuda.sh [VERSION...] - real CUDA wheels of torch on a machine without a GPU.
#
# The oldest and the newest CUDA major (torch 2.4.1, cu121; 2.15.0, cu132) import and
# train under the agent with their own cudart, CUPTI and NCCL mapped and no driver: the
# output, the exit status and the trace are as without a GPU, and one line says that there
# is none.  Then libcupti 13.2 ... 13.5, which must not be called without a driver, are
# loaded under the agent.  Environments are those of matrix.sh, kept under $BUILD/matrix;
# what cannot be had is skipped with a line.  MATRIX_GB: free disk that an environment
# which is still to be made needs (default 12).
set -u
export LC_ALL=C.UTF-8
versions=${*:-2.4.1 2.15.0}
matrix=$BUILD/matrix
work=$matrix/cuda
rm -rf "$work"
mkdir -p "$work"
passed=0 failed=0 skipped=0

pass() { passed=$((passed + 1)); echo "ok    $1"; }
skip() { skipped=$((skipped + 1)); echo "skip  $1"; }
fail() {
	failed=$((failed + 1))
	echo "FAIL  $1"
	[ -z "${2-}" ] || tail -n 12 "$2" | sed 's/^/      | /'
}

environment() {	# VERSION
	[ ! -e "$matrix/wheel-$1/ready" ] || return 0
	free=$(df -Pk "$matrix" | awk 'NR == 2 { print int($4 / 1048576) }')
	[ "$free" -ge "${MATRIX_GB:-12}" ] || { echo "only $free GB of disk"; return 1; }
	PREPARE=1 tests/matrix.sh "wheel-$1" > "$work/prepare" 2>&1
	[ -e "$matrix/wheel-$1/ready" ] || { tail -n 1 "$work/prepare"; return 1; }
}

# Prints its loss; says on demand which of CUDA's libraries are mapped.
cat > "$work/train.py" << 'END'
import os, sys
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.utils.data.TensorDataset(torch.randn(256, 16), torch.randn(256, 1))
for x, y in torch.utils.data.DataLoader(data, 16, num_workers=1):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(torch.cuda.is_available(), f"{loss.item():.6f}")
if len(sys.argv) > 1:
    with open("/proc/self/maps") as maps, open(sys.argv[1], "w") as out:
        names = {os.path.basename(line.split()[-1]) for line in maps if ".so" in line}
        print("\n".join(sorted(names)), file=out)
END

one() {	# VERSION
	python=$matrix/wheel-$1/bin/python
	log=$work/$1
	mkdir -p "$log"
	$python "$work/train.py" > "$log/plain.out" 2> "$log/plain.err"
	want=$?
	"$BUILD/proflaunch" --logdir "$log/traces" --schedule wait=1,warmup=1,active=3,repeat=1 \
		--record-shapes -- $python "$work/train.py" "$log/maps" > "$log/out" 2> "$log/err"
	got=$?
	[ "$want" = "$got" ] && cmp -s "$log/plain.out" "$log/out" ||
		{ fail "torch $1: exit $got instead of $want, or another output" "$log/err"; return; }
	for library in libcudart libcupti libnccl; do
		grep -q "^$library" "$log/maps" ||
			{ fail "torch $1: $library is not mapped, so that this shows nothing" "$log/maps"; return; }
	done
	trace=$(find "$log/traces" -maxdepth 1 -name '*.pt.trace.json')
	[ "$(echo "$trace" | grep -c .)" = 1 ] && python3 tests/readers/strict.py "$trace" > "$log/strict" ||
		{ fail "torch $1: not one sound trace" "$log/err"; return; }
	grep -q '"cat": *"cpu_op"' "$trace" || { fail "torch $1: no operators"; return; }
	lines=$(grep -c -i -E 'proflaunch.*(no GPU|no NVIDIA|no driver|GPU)' "$log/err")
	[ "$lines" = 1 ] || { fail "torch $1: $lines lines say that there is no GPU" "$log/err"; return; }
	pass "torch $1: imports and trains; $(grep -i 'GPU' "$log/err" | head -n 1)"
}

# torch's own profiler asked for CUDA, with our hooks on CUPTI's functions in between.
kineto() {	# VERSION
	python=$matrix/wheel-$1/bin/python
	cat > "$work/kineto.py" << 'END'
import torch
from torch.profiler import ProfilerActivity, profile
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
    torch.ones(4).add(1)
print(sorted({e.key for e in p.key_averages()}))
END
	$python "$work/kineto.py" > "$work/$1/kineto.plain" 2> /dev/null
	want=$?
	"$BUILD/proflaunch" --logdir "$work/$1/kineto" -- $python "$work/kineto.py" \
		> "$work/$1/kineto.out" 2> "$work/$1/kineto.err"
	got=$?
	[ "$want" = "$got" ] && cmp -s "$work/$1/kineto.plain" "$work/$1/kineto.out" &&
		pass "torch $1: its own profiler is as without us" ||
		fail "torch $1: its own profiler ends with $got instead of $want" "$work/$1/kineto.err"
}

cupti() {	# VERSION: that library loaded, not called
	folder=$matrix/cupti-$1
	if [ ! -e "$folder/ready" ]; then
		rm -rf "$folder"
		mkdir -p "$folder"
		"$BUILD/venv/bin/pip" -q -q --disable-pip-version-check download --no-deps \
			--only-binary=:all: -d "$folder" "nvidia-cuda-cupti==$1" > "$folder/log" 2>&1 ||
			{ skip "libcupti $1: $(tail -n 1 "$folder/log")"; return; }
		(cd "$folder" && python3 -m zipfile -e ./*.whl . && rm -f ./*.whl && touch ready)
	fi
	library=$(find "$folder" -name 'libcupti.so.*' | head -n 1)
	out=$work/cupti-$1
	"$BUILD/proflaunch" --logdir "$work/cupti" -- python3 -c "
import ctypes, sys
ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
print('loaded')" "$library" > "$out" 2>&1 && grep -q '^loaded$' "$out" &&
		pass "libcupti $1: loading it is harmless" || fail "libcupti $1" "$out"
}

for version in $versions; do
	reason=$(environment "$version") || { skip "torch $version: $reason"; continue; }
	one "$version"
	kineto "$version"
done
for version in 13.2.86 13.3.35 13.4.58 13.5.25; do
	cupti $version
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
