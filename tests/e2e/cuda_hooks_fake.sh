#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
# The hooks between programs and the fake GPU: names of kernels, estimates, collectives.
. tests/e2e/cuda_hooks.inc
fake=$build/fake
[ -e "$fake/cudart/libcudart.so.13" ] || { echo "the fake GPU was not built: make fake"; exit 1; }
ln -s "$fake/libcuda.so.1" "$fake/libnccl.so.2" "$fake/cudart/libcudart.so.13" .
# Until the fake driver has all that estimates need.
nm -D libcuda.so.1 | grep -q cuStreamIsCapturing || {
	echo 'int cuStreamIsCapturing(void *s, int *status) { *status = 0; return 0; }
	int cuThreadExchangeStreamCaptureMode(int *mode) { return 0; }' > shim.c
	cc -shared -fPIC -o libcuda.so.shim shim.c
	first=$work/libcuda.so.shim
}
cc $cflags -rdynamic -o prog "$root/tests/e2e/cuda_hooks_fake.c" ./libcudart.so.13 ./libcuda.so.1 \
	./libnccl.so.2 -Wl,-rpath,"$work" -ldl -pthread || fail "cannot build prog"

same() { # WORD: prints the same with us
	./prog "$@" > plain 2>&1
	wanted=$?
	for want in 0 1 2 4 31; do
		HOOKS_TELL=1 with $want 1 ./prog "$@" > got 2> err
		status=$?
		[ $status = $wanted ] || { cat got err; fail "$*: status $status, not $wanted"; }
		[ ! -s err ] || { cat err; fail "$*, want $want: says something"; }
		cmp -s plain got || { diff plain got; fail "$*, want $want differs"; }
		hasnt BAD out "$*"
	done
}
same names
sed -n 's/^begin \(.*Launch[^ ]* [^ ]*\)$/\1/p' out > names
cat > expected << 'T'
cudaLaunchKernel _Z6vecaddPfi
cudaLaunchKernelExC _Z5scalePff
__cudaLaunchKernel _Z6vecaddPfi
cuLaunchKernel _Z5otherv
cuLaunchKernelEx _Z5otherv
cuLaunchKernel _Z5otherv
cudaLaunchKernel -
T
cmp -s expected names || { diff expected names; fail "names of kernels"; }
has '^stack cudaLaunchKernel | .*main (prog+0x' out stacks
has 'ready 1$' out ready

export FAKE_KERNEL_NS=200000
same estimate
[ "$(grep -c '^kernel' out)" = 4 ] || fail "$(grep -c '^kernel' out) estimates, not 4"
[ "$(grep -c '^kernel _Z6vecaddPfi grid=7,2,3 block=64,2,1 shared=512 flags=8 ns=2[0-9][0-9][0-9][0-9][0-9]$' out)" = 4 ] || {
	grep '^kernel' out; fail "what was estimated"; }
[ "$(grep -c '^call cudaLaunchKernel 0 flags=6 ended' out)" = 4 ] || fail "flags of sampled calls"
[ "$(grep -c '^call cudaLaunchKernel 0 flags=4 ended' out)" = 396 ] || fail "flags of other calls"
same legacy
hasnt '^kernel' out "the legacy stream"
same capture
[ "$(grep -c '^kernel' out)" = 1 ] || fail "estimates go on after a capture has begun"
unset FAKE_KERNEL_NS
same collectives
has '^collective ncclAllReduce count=64 type=7 rank=3 size=4 peer=-1' out "a collective"
has '^collective ncclReduce count=32 type=7 rank=2 size=8 peer=1' out "a communicator made unseen"
has '^collective ncclSend count=16 type=0 rank=3 size=4 peer=2' out "a message"
has '^collective ncclGroupEnd count=0 type=-1 rank=-1 size=-1 peer=-1' out "a group"
same child
same cancel
has canceled plain "cancellation was not tried"
