#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_cpp.sh system|venv - a C++ program on the system's libtorch, or on the test
# environment's: is our trace of it equal to torch's own?
# run: timeout 400
set -eu
name=cpp-$1
here=tests/fidelity
work=$BUILD/fidelity/$name
rm -rf "$work"
mkdir -p "$work/torch" "$BUILD/prog"
case $1 in
system) flags='-I/usr/include/torch/csrc/api/include' ;;
venv)   torch=$(echo "$(cd "$BUILD/venv" && pwd)"/lib/python3*/site-packages/torch)
	flags="-std=c++20 -I$torch/include -I$torch/include/torch/csrc/api/include
		-L$torch/lib -Wl,-rpath,$torch/lib" ;;
esac
program=$BUILD/prog/$name
# shellcheck disable=SC2086 - several flags
[ "$program" -nt $here/cpp/train.cc ] ||
	g++ -w $here/cpp/train.cc $flags -o "$program" -ltorch -ltorch_cpu -lc10
"$program" > "$work/plain.out"
for try in 1 2 3; do	# where only times differ it is done again: another program's doing
	rm -rf "$work/log" "$work/torch"
	mkdir -p "$work/torch"
	FIDELITY_OUT=$work/torch "$BUILD/proflaunch" --logdir "$work/log" --marker none \
		--record-shapes --profile-memory -- "$program" > "$work/ours.out" 2> "$work/ours.err" ||
		{ cat "$work/ours.err"; exit 1; }
	cmp "$work/plain.out" "$work/ours.out"
	rc=0
	python3 $here/compare.py "$work"/torch/*.json "$work"/log/*.pt.trace.json || rc=$?
	[ $rc = 3 ] || break
	echo "only times differ: try $try"
done
[ $rc = 0 ] || exit $rc
python3 tests/readers/strict.py "$work"/log/*.pt.trace.json
