#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# needs.sh build|unit - what building lacks on this machine, before a compiler says it in its words.
#
# The compiler itself is asked, and no list of packages: where the headers came from is not our affair.
cc=${CC:-cc}
missing=''
lack() { missing="$missing${missing:+, }$1 (Debian: $2)"; }
# header NAME PACKAGE, archive NAME PACKAGE
header() { echo "#include <$1>" | $cc -E -x c - > /dev/null 2>&1 || lack "$1" "$2"; }
archive() { [ -e "$($cc -print-file-name="$1" 2> /dev/null)" ] || lack "$1" "$2"; }

if ! command -v "${cc%% *}" > /dev/null; then
	lack "the compiler ${cc%% *}" gcc
elif [ "$1" = unit ]; then
	header check.h check
	command -v pkg-config > /dev/null || lack pkg-config pkg-config
else
	header stdio.h libc6-dev
	header libdeflate.h libdeflate-dev
	header zlib.h zlib1g-dev
	archive libdeflate.a libdeflate-dev
	archive libiberty.a libiberty-dev
	archive libz.a zlib1g-dev
fi
[ -z "$missing" ] && exit 0
echo "make: missing here: $missing" >&2
echo 'make: run `make setup` (as root, on Debian) or `make demo`, which installs what building needs' >&2
exit 1
