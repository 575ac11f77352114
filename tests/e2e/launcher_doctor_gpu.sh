#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doctor and the GPU: what the driver and CUPTI answer, and what is between them and us.
fake=$(realpath "${BUILD:-build}")/fake/run-13.0
[ -e "$fake/libcudart.so.13" ] || { echo "no fake CUDA 13.0 in $fake"; exit 77; }
. tests/e2e/launcher.inc

echo 'int cudaGetDeviceCount(int *); int main(void) { int n; return cudaGetDeviceCount(&n); }' > gpu.c
${CC:-cc} -o gpu gpu.c "$fake/libcudart.so.13" -Wl,--unresolved-symbols=ignore-in-shared-libs || fail "no program"
unset CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH CUDA_MPS_PIPE_DIRECTORY
# gpu VARIABLE=VALUE...: doctor for the program on the fake GPU
gpu() {
	status=0
	env "$@" LD_LIBRARY_PATH="$fake" "$prof" doctor $options -- ./gpu > out 2> err || status=$?
}
options=

gpu FAKE_DEVICES=2
want 0 $status "a GPU in order"
has "ok   CUDA runtime: $fake/libcudart.so.13" out "the runtime that the program maps"
has 'ok   GPU: driver for CUDA 13.4 and older, 2 devices' out "the driver"
has 'ok   GPU 1: Fake H100 80GB, compute capability 9.0' out "a device"
has "ok   CUPTI: $fake/libcupti.so.13, version 13000" out "CUPTI"
has 'ok   CUPTI: nobody else has it' out "permission"

gpu FAKE_NAME='NVIDIA H100 MIG 1g.10gb'
want 0 $status "a part of a GPU"
has 'ok   GPU 0: NVIDIA H100 MIG 1g.10gb, compute capability 9.0, a MIG instance' out "MIG"

# Each thing that can be in the way: what is said, and that it is marked.
off() {
	gpu "$1"
	want 1 $status "$1"
	grep '^OFF' out | grep -qF -e "$2" || { cat out; fail "$1: no '$2'"; }
}
off FAKE_ERROR=cuInit=100 'the driver refuses (cuInit: 100'
off FAKE_ERROR=cuInit=803 "restart after the driver's update"
off FAKE_ERROR=cuptiSubscribe=35 'NVreg_RestrictProfilingToAdminUsers=0'
off FAKE_ERROR=cuptiSubscribe=15 'newer than the driver'
off FAKE_OWNER=nsys 'another profiler has its only place'
off FAKE_ERROR=cuptiActivityEnable/10=43 'not supported by CUPTI'
off CUDA_INJECTION64_PATH=/opt/other/libtool.so 'names /opt/other/libtool.so'

gpu FAKE_ERROR=cuptiActivityGetNextRecord=999
want 0 $status "sizes that are not told"
has 'note CUPTI: it does not tell the sizes of its records' out "it is said"
mkdir mps && : > mps/control
gpu CUDA_MPS_PIPE_DIRECTORY="$work/mps"
has "note MPS: $work/mps/control is there" out "MPS"
gpu NVTX_INJECTION64_PATH=/x/libcupti.so.13
has 'note NVTX_INJECTION64_PATH names /x/libcupti.so.13' out "NVTX's variable"
options='--activities cpu'
gpu FAKE_ERROR=cuInit=100
want 0 $status "operators only"
has 'note GPU: not recorded (activities = cpu)' out "it is said"
options=

# Of several beside the runtime the one that the agent takes; and what it refuses.
mkdir -p two && cp -L "$fake"/*.so.1* two
cp -L "$fake"/../run-12.8/libcupti.so.12 two
one=$fake
fake=$work/two
gpu A=1
has "ok   CUPTI: $fake/libcupti.so.13, version 13000" out "the one of the runtime's major"
rm two/libcupti.so.13
gpu A=1
! grep -q libcupti.so.12 out || { cat out; fail "another major's CUPTI is taken"; }
fake=$one
gpu CUDA_MPS_PIPE_DIRECTORY="$work/mps" FAKE_VERSION=130000 FAKE_DRIVER=13000
want 1 $status "a CUPTI that is not used under MPS"
has 'OFF  CUPTI is not used: under MPS with this driver' out "why"
gpu CUDA_MPS_PIPE_DIRECTORY="$work/nowhere" FAKE_VERSION=130001 FAKE_DRIVER=13000
want 0 $status "a variable alone is no MPS"
gpu FAKE_VERSION=130000
want 0 $status "13.0 without its Update 1"
has 'note CUPTI: CUPTI 13.0 without its Update 1 may crash' out "it is said"

# A library that crashes, one that is none, no driver.
mkdir -p bad
cp -L "$fake"/libcudart.so.13 "$fake"/libcuda.so.1 bad
echo 'int cuptiGetVersion(unsigned *v) { return cuptiGetVersion(v) + *(volatile int *)8; }' > crash.c
${CC:-cc} -w -shared -fPIC -Wl,-soname,libcupti.so.13 -o bad/libcupti.so.13 crash.c
fake=$work/bad
gpu A=1
want 1 $status "a CUPTI that crashes"
has 'a process died by signal 11' out "it is said"
has 'while it was asked for its version; install another version' out "where"
has 'Something is off' out "doctor goes on"
rm bad/libcupti.so.13
echo 'not a library' > bad/libcupti.so.13
gpu A=1
want 1 $status "a CUPTI that cannot be opened"
has 'OFF  CUPTI: ' out "it is said"
rm bad/libcuda.so.1
gpu A=1
want 0 $status "no driver: operators alone are recorded"
has 'note GPU: no NVIDIA driver' out "it is said"
[ -z "$(ls core* 2> /dev/null)" ] || fail "a core file was left"
