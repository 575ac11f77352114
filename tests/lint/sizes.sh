#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files of at most 400 lines, functions of at most 60.
rc=0
files=$(git ls-files -co --exclude-standard '*.c' '*.h' '*.S' '*.py' '*.sh' '*.mk' Makefile)
for f in $files; do
	[ -e "$f" ] || continue
	lines=$(wc -l < "$f")
	[ "$lines" -le 400 ] || { echo "$f has $lines lines"; rc=1; }
done
long=$(printf '%s\n' $files | grep '\.[ch]$' | ctags -L - -o - --languages=C --langmap=C:+.h \
	--kinds-C=f --fields=+ne |
	sed -n 's/^\([^\t]*\)\t\([^\t]*\)\t.*line:\([0-9]*\).*end:\([0-9]*\).*/\1 \2 \3 \4/p' |
	awk '$4 - $3 + 1 > 60 { print $2 ": " $1 "() has " $4 - $3 + 1 " lines" }')
[ -z "$long" ] || { echo "$long"; rc=1; }
exit $rc
