#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make on a machine without the packages: what is missing, and what to run.
root=$PWD
. tests/e2e/launcher.inc

# All headers of this machine but those that are named.
cc=$(command -v "${CC:-gcc}") || { echo "no gcc here"; exit 77; }
without() {
	rm -rf headers && mkdir headers && ln -s /usr/include/* headers/
	for name; do rm "headers/$name"; done
	echo "$cc -nostdinc -isystem $($cc -print-file-name=include) -isystem $work/headers" \
		"-isystem /usr/include/$($cc -print-multiarch)"
}
# build CC TARGET
build() {
	status=0
	MAKEFLAGS= make -C "$root" --no-print-directory BUILD="$work/build" CC="$1" "$2" > out 2> err || status=$?
}
build "$(without libdeflate.h zlib.h)" all
want 2 $status "make without headers"
has 'make: missing here: libdeflate.h (Debian: libdeflate-dev), zlib.h (Debian: zlib1g-dev)' err "what is missing"
has 'make: run `make setup` (as root, on Debian) or `make demo`' err "what to do"
! grep -q 'No such file' err || { cat err; fail "the compiler has the word"; }
build no-such-compiler all
want 2 $status "make without a compiler"
has 'missing here: the compiler no-such-compiler (Debian: gcc)' err "it is said"
build "$(without check.h)" "$work/build/test_near"
want 2 $status "a unit test without Check"
has 'missing here: check.h (Debian: check)' err "it is said"
build "$(without)" "$work/build/so/base/near.o"
want 0 $status "all is there"
