#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
# Runtimes that are not there, not global, there twice, renamed, loaded again, asked for by
# dlsym: programs get what they get without us.
. tests/e2e/cuda_hooks.inc

mock cudart libcudart.so.13 -DSHALLOW
mock cudart libcudart.so.12 -DSHALLOW -DVARIANT=2
mock cudart libcudart-e409450e.so.11.0 -DSHALLOW -DVARIANT=3
mock driver libcuda.so.1 -DSHALLOW
mock nccl libnccl.so.2 -DSHALLOW
source=$root/tests/e2e/cuda_hooks_find.c
for n in 13 12; do
	cc $cflags -DUSER -fPIC -shared -o libuser$n.so "$source" ./libcudart.so.$n \
		-Wl,-rpath,"$work" || fail "cannot build libuser$n.so"
done
cc $cflags -DUSER -fPIC -shared -o libuser11.so "$source" ./libcudart-e409450e.so.11.0 \
	-Wl,-rpath,"$work"
for n in libcupti.so.13 libother.so; do
	cc $cflags -DASKER -fPIC -shared -o $n "$source" -ldl || fail "cannot build $n"
done
cc $cflags -o find "$source" -ldl || fail "cannot build find"
cc $cflags -o linked "$source" -ldl -Wl,--no-as-needed ./libcudart.so.13 ./libcuda.so.1 \
	./libnccl.so.2 -Wl,-rpath,"$work" || fail "cannot build linked"

same() { # COMMAND...: prints the same with us
	"$@" > plain 2>&1
	wanted=$?
	for want in 0 1 31; do
		with $want 1 "$@" > got 2> err
		status=$?
		[ $status = $wanted ] || fail "$*: status $status, not $wanted"
		[ ! -s err ] || { cat err; fail "$*, want $want: says something"; }
		grep -v '^at ' plain > plain.cut; grep -v '^at ' got > got.cut
		cmp -s plain.cut got.cut || { diff plain got; fail "$*, want $want differs"; }
	done
}
same ./find lookups
has 'default: NULL' plain lookups
LD_PRELOAD=$build/libproflaunch.so ./find lookups > got
cmp -s plain got || { diff plain got; fail "lookups under the whole agent"; }
same ./linked lookups
has 'default: found' plain lookups
same ./find users ./libuser13.so
has '^marks [1-9]' out "one user"
same ./find users ./libuser11.so
has '^marks [1-9]' out "a renamed runtime"
same ./find users ./libuser13.so ./libuser12.so
[ "$(sort -u plain | wc -l)" = 8 ] || fail "both runtimes say the same"
same ./find users ./libuser12.so ./libuser13.so ./libuser11.so
has '^marks [1-9]' out "three users"
same ./find again ./libuser13.so
same ./find handle ./libcudart.so.13 cudaMalloc
same ./linked handle ./libcudart.so.13 cudaMalloc
same ./find handle ./libcuda.so.1 cuLaunchKernel
has '^at agent.so' got "the driver by its handle"
has '^marks [1-9]' out "the driver by its handle"
with 0 1 ./find handle ./libcuda.so.1 cuLaunchKernel > got
has '^at libcuda.so.1' got "the driver while nothing is wanted"
with 31 1 ./find asked ./libcupti.so.13 ./libcuda.so.1 cuLaunchKernel > got
has '^at libcuda.so.1' got "CUPTI asks"
hasnt '^at agent.so' got "CUPTI asks"
with 31 1 ./find asked ./libother.so ./libcuda.so.1 cuGetProcAddress_v2 > got
has '^at agent.so' got "others ask"
# A library with a static copy of its own that it exports, as torch 1.13 has of NCCL.
nccl="-DUSER -DSHALLOW -DFIRST=ncclBcast -DSECOND=ncclGroupEnd -fPIC -shared"
cc $cflags $nccl -DTABLE='"agent/cuda/nccl.def"' -DVARIANT=4 -o libself.so "$source" \
	"$root/tests/e2e/cuda_hooks_mock.c" || fail "cannot build libself.so"
cc $cflags $nccl -o libusernccl.so "$source" ./libnccl.so.2 -Wl,-rpath,"$work" ||
	fail "cannot build libusernccl.so"
same ./find users ./libself.so
same ./find users ./libusernccl.so
same ./find users ./libself.so ./libusernccl.so
same ./find users ./libusernccl.so ./libself.so
# Functions that the runtime does not have: an error, not a crash.
cc $cflags -Wl,--allow-shlib-undefined -DUSER -fPIC -shared -o libuser.so "$source"
[ -e libuser.so ] || exit 0
with 0 1 ./find users ./libuser.so > got
has ' [0-9a-f]* 0$' got "no runtime at all"
