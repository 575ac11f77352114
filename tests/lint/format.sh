#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every C file is as clang-format leaves it, and every file begins with its licence.
rc=0
# A process for many files: to begin one takes longer than to read a file.
said=$(git ls-files -co --exclude-standard '*.c' '*.h' |
	xargs -n 100 -P "$(nproc)" clang-format --dry-run --Werror 2>&1) || { rc=1; echo "$said"; }
for f in $(echo "$said" | sed -n 's/:[0-9]*:[0-9]*: error: .*//p' | sort -u); do
	clang-format "$f" | diff -u --label "$f" --label formatted "$f" -
done
all=$(git ls-files -co --exclude-standard '*.c' '*.h' '*.S' '*.def' '*.py' '*.sh' '*.mk' Makefile | sort)
licensed=$(echo "$all" | xargs awk '/SPDX-License-Identifier: Apache-2.0/ { print FILENAME; nextfile } FNR == 2 { nextfile }' | sort)
[ "$all" = "$licensed" ] ||
	{ echo "no SPDX line at the head of:"; echo "$all" | grep -vxF "$licensed"; rc=1; }
exit $rc
