#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
# Every function of the hook tables, called with numbers everywhere: results, errno and
# arguments are the same under an agent of hooks alone, whatever is wanted.
. tests/e2e/cuda_hooks.inc

mock cudart libcudart.so.13
mock driver libcuda.so.1
mock nccl libnccl.so.2
cc $cflags -fno-pie -no-pie -rdynamic -o calls "$root/tests/e2e/cuda_hooks_calls.c" ./libcudart.so.13 \
	./libcuda.so.1 ./libnccl.so.2 -pthread -Wl,-rpath,"$work" || fail "cannot build calls"

./calls > plain || fail "plain: $?"
[ "$(wc -l < plain)" -gt 300 ] || fail "few calls: $(wc -l < plain)"
for want in 0 1 2 4 8 16 31; do
	for window in '' 1; do
		with $want "$window" ./calls > got 2> err ||
			fail "want $want window $window: status $?: $(cat err)"
		cmp -s plain got || { diff plain got | head; fail "want $want differs"; }
		[ ! -s err ] || { cat err; fail "want $want says something"; }
		hasnt BAD out "want $want"
		case $want in
		0) has '^marks 0 0 ready 0' out "nothing wanted"
		   [ "$(wc -l < out)" = 1 ] || fail "recorded without being asked" ;;
		1) has '^marks \([0-9]*\) \1 ready 0' out marks; hasnt '^marks 0' out marks ;;
		16) has '^marks 0 0 ready 1$' out ready ;;
		esac
		[ -z "$window" ] && continue
		case $want in
		2) [ "$(grep -c '^stack' out)" = 40 ] || fail "$(grep -c '^stack' out) stacks"
		   has '^stack cudaLaunchKernelExC_ptsz | call (calls+0x[0-9a-f]*) | all' out stacks ;;
		4) has '^call cudaMalloc 0 flags=4 ended' out times
		   has '^call cuLaunchKernel [1-9-][0-9]* flags=5 ended' out times
		   hasnt '^call nccl' out times; hasnt '^kernel' out times ;;
		8) has '^collective ncclAllReduce count=[1-9]' out collectives
		   hasnt '^call' out collectives
		   [ "$(grep -c '^collective' out)" = 26 ] || fail "collectives" ;;
		esac
	done
done
for want in 0 31; do
	with $want 1 ./calls thread > got ||
		fail "threads: $?"
	has '^0 differ' got "threads, want $want"
	with $want 1 ./calls signal > got || fail "signals: $?"
	has '^0 differ, some signals' got "signals, want $want"
done
# A program built with AddressSanitizer, whose runtime comes first.
runtime=$(cc -print-file-name=libasan.so)
case $runtime in /*)
	cc $cflags -fsanitize=address -fno-pie -no-pie -rdynamic -o calls \
		"$root/tests/e2e/cuda_hooks_calls.c" ./libcudart.so.13 ./libcuda.so.1 \
		./libnccl.so.2 -pthread -Wl,-rpath,"$work" || fail "cannot build with ASan"
	export ASAN_OPTIONS=detect_leaks=0
	./calls > plain || fail "plain, with ASan"
	first=$(realpath "$runtime")
	with 31 1 ./calls > got 2> err || { cat err; fail "with ASan"; }
	cmp -s plain got || { diff plain got | head; fail "with ASan: differs"; }
	[ ! -s err ] || { cat err; fail "with ASan: says something"; } ;;
esac
