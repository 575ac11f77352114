#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
# What the fake GPU is assumed to do, checked by the program that checks a real one
# (tests/fake/assume.c, tests/fake/ASSUMPTIONS): here nothing may be otherwise.
set -u
fake=${BUILD:-build}/fake
[ -e "$fake/run-13.4/done" ] || { echo "the fake GPU was not built: make fake"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rc=0
for version in 11.7 12.4 12.8 13.0 13.4; do
	run=$fake/run-$version
	# shellcheck disable=SC2086
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O1 -I. -rdynamic -o "$work/assume" \
		tests/fake/assume.c "$run"/libcudart.so.1* -ldl -pthread || exit 1
	LD_LIBRARY_PATH=$run FAKE_DEVICES=2 "$work/assume" > "$work/said" ||
		{ echo "CUDA $version:"; grep otherwise "$work/said"; rc=1; }
	python3 - "$work/said" tests/fake/ASSUMPTIONS << 'END' || rc=1
import json, re, sys
said = json.load(open(sys.argv[1], encoding="utf-8"))
lines = open(sys.argv[2], encoding="utf-8").read()
assumed = set(re.findall(r"^assumed: (\d+) ", lines, flags=re.M))
tried = [n for n, text in said.items() if not text.startswith("not tried")]
if not set(said) <= assumed | {"32", "35"} or len(tried) < 24:
    sys.exit(f"{len(tried)} tried; not in the list: {set(said) - assumed}")
END
done
exit $rc
