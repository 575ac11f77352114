#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lay.sh FAKE VERSION CUPTI CUDART - the folders of one version, ready for
# LD_LIBRARY_PATH (run-VERSION) and as the wheels lay them (wheel-VERSION).
#
# Hard links, not symbolic ones: a mapped library's name is then the one it was opened by,
# so that what looks beside libcudart finds what lies there.
set -eu
fake=$1 version=$2 cupti=$3 cudart=$4

put() { # file folder [name]
	mkdir -p "$2"
	ln -f "$1" "$2/${3:-$(basename "$1")}"
}

run=$fake/run-$version
put "$fake/libcuda.so.1" "$run"
put "$fake/cudart/$cudart" "$run"
put "$fake/$version/$cupti" "$run"
put "$fake/libnccl.so.2" "$run"
ln -sf libcuda.so.1 "$run/libcuda.so"
ln -sf "$cudart" "$run/libcudart.so"
ln -sf "$cupti" "$run/libcupti.so"
ln -sf libnccl.so.2 "$run/libnccl.so"

nvidia=$fake/wheel-$version/nvidia
case $version in
13.*) put "$fake/cudart/$cudart" "$nvidia/cu13/lib"
      put "$fake/$version/$cupti" "$nvidia/cu13/lib" ;;
*)    put "$fake/cudart/$cudart" "$nvidia/cuda_runtime/lib"
      put "$fake/$version/$cupti" "$nvidia/cuda_cupti/lib" ;;
esac
put "$fake/libnccl.so.2" "$nvidia/nccl/lib"
touch "$run/done"
