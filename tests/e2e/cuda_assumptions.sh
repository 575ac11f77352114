#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
# What the fake GPU is assumed to do, checked by the program that checks a real one
# (tests/fake/assume.c, tests/fake/ASSUMPTIONS): here nothing may be otherwise, every line
# has a check of its number, and each is really tried with one version at least.
set -u
fake=${BUILD:-build}/fake
[ -e "$fake/run-13.4/done" ] || { echo "the fake GPU was not built: make fake"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc="${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O1 -I."
rc=0
$cc -shared -fPIC -o "$work/inject.so" tests/fake/assume_inject.c -ldl || exit 1
for version in 11.7 12.4 12.8 13.0 13.4; do
	run=$fake/run-$version
	$cc -rdynamic -o "$work/assume" \
		tests/fake/assume.c "$run"/libcudart.so.1* -ldl -pthread || exit 1
	LD_LIBRARY_PATH=$run FAKE_DEVICES=2 ASSUME_INJECT=$work/inject.so CUPTI=libcupti.so \
		"$work/assume" > "$work/said-$version" ||
		{ echo "CUDA $version:"; grep otherwise "$work/said-$version"; rc=1; }
done
PYTHONPATH=tests/gpu python3 - "$work"/said-* << 'END' || rc=1
import json, sys
import assumptions
said = [json.load(open(path, encoding="utf-8")) for path in sys.argv[1:]]
tried = {n for one in said for n, text in one.items() if not text.startswith("not tried")}
bad = [n for one in said for n in assumptions.numbers() ^ set(one)]
if assumptions.covered() or bad or tried != assumptions.numbers():
    sys.exit(f"without an answer: {bad}; tried with no version: {assumptions.numbers() - tried}")
END
exit $rc
