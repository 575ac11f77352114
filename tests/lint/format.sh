#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every C file is as clang-format leaves it, and every file begins with its licence.
rc=0
for f in $(git ls-files -co --exclude-standard '*.c' '*.h'); do
	clang-format "$f" | diff -u --label "$f" --label formatted "$f" - || rc=1
done
for f in $(git ls-files -co --exclude-standard '*.c' '*.h' '*.S' '*.def' '*.py' '*.sh' '*.mk' Makefile); do
	head -n 2 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
		{ echo "$f: no SPDX line at its head"; rc=1; }
done
exit $rc
