#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# layouts.def from a table of facts: "kind name stride..." with one column for each CUDA
# release, then "kind name field offset width since".  Usage: layouts.sh table > layouts.def
# Of the fields it holds those that the agent names.  One that took over padding of older
# records is refused: a record's length does not tell whether it is there.
here=$(dirname "$0")
for file in "$here"/../*/*.c; do
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I "$here/../../.." -E -P "$file" || exit 1
done | grep -o 'LAYOUT_AT_[A-Za-z0-9_]*\( = \)*' | grep -v ' = ' | sort -u |
	awk -F'\t' '
FILENAME == "-" { named[substr($1, 11)]; next }
FNR == 1 {
	n = split("11.7 17 11.8 18 12.0 18 12.1 18 12.2 20 12.3 21 12.4 22 12.5 23 12.6 24 " \
		"12.8 26 12.9 27 13.0 130000 13.1 130100 13.2 130200 13.3 130300 13.4 130400 " \
		"13.5 130500", word, " ")
	for (i = 1; i < n; i += 2)
		api[word[i]] = word[i + 1]
	print "/* SPDX-License-Identifier: Apache-2.0 */"
	print "/*"
	print " * Made by layouts.sh from what the headers and the libraries of 17 releases say."
	print " * RELEASE(1107, number of cuptiGetVersion): the columns of STRIDES."
	print " * STRIDES(kind, name, bytes of a record in each release; 0 = no such kind)"
	print " * FIELD(name of the kind, field, offset, width): those that are read, and where the"
	print " * stride tells whether a record has them."
	print " */"
	# The same in all releases, and not in the table.
	m = split("11 NAME 32 12 MARKER 56 18 CDP_KERNEL 144 20 ENVIRONMENT 40 " \
		"26 FUNCTION 32 27 MODULE 24 37 STREAM 24 45 MEMORY 80", same, " ")
}
function release(text) { split(text, v, "."); return v[1] * 100 + v[2] }
/^#/ { next }
$1 == "kind" && NF > 6 {
	for (i = 3; i <= NF; i++) {
		column[i] = release($i)
		printf "RELEASE(%d, %d)\n", column[i], api[$i]
	}
	columns = NF
	for (k = 1; k < m; k += 3) {
		row = ""
		for (i = 3; i <= NF; i++)
			row = row ", " same[k + 2]
		printf "STRIDES(%d, %s%s)\n", same[k], same[k + 1], row
	}
	next
}
$1 == "kind" { next }
NF == columns {
	row = ""
	for (i = 3; i <= NF; i++) {
		stride[$1, column[i]] = $i == "-" ? 0 : $i
		row = row ", " ($i == "-" ? 0 : $i)
	}
	printf "STRIDES(%d, %s%s)\n", $1, $2, row
	next
}
NF == 6 && ($2 "_" $3) in named {
	for (i = 3; i <= columns; i++)
		if (column[i] < release($6) && stride[$1, column[i]] >= $4 + $5) {
			print $2 "." $3 ": padding before " $6 >"/dev/stderr"
			exit 1
		}
	printf "FIELD(%s, %s, %d, %d)\n", $2, $3, $4, $5
}' - "$1"
