#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Agent and launcher load in any container: libc alone, no glibc newer than 2.28. The
# agent is bound at once, has no text relocations, no executable stack, and TLS that
# needs no allocation.
rc=0
say() { echo "$1: $2"; rc=1; }

for binary in "$BUILD/libproflaunch.so" "$BUILD/proflaunch"; do
	floor=$(readelf -V "$binary" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
	newest=$(printf '%s\n' "$floor" GLIBC_2.28 | sort -V | tail -n 1)
	[ -n "$floor" ] || say "$binary" "asks for no version of libc at all"
	[ "$newest" = GLIBC_2.28 ] ||
		say "$binary" "asks for $floor: $(nm -D "$binary" | grep "$floor" | tr '\n' ' ')"
	# Versions that are no numbers (GLIBC_PRIVATE, GLIBC_ABI_DT_RELR) are new or private.
	odd=$(readelf -V "$binary" | grep -o 'GLIBC_[A-Z_]*' | grep -v '^GLIBC_$' | sort -u | tr '\n' ' ')
	[ -z "$odd" ] || say "$binary" "asks for $odd"
	needed=$(readelf -d "$binary" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
	for library in $needed; do
		case $library in
		libc.so.6|ld-linux*.so.*) ;;
		libdl.so.2|libpthread.so.0|libm.so.6)
			case $binary in *.so) say "$binary" "needs $library" ;; esac ;;
		*) say "$binary" "needs $library" ;;
		esac
	done
	readelf -d "$binary" | grep -q -E 'TEXTREL' && say "$binary" "has text relocations"
	readelf -d "$binary" | grep -q -E 'RPATH|RUNPATH' && say "$binary" "has a run path"
	readelf -W -l "$binary" | grep 'GNU_STACK' | grep -q 'RWE' &&
		say "$binary" "has an executable stack"
done

so=$BUILD/libproflaunch.so
readelf -d "$so" | grep -q -E 'BIND_NOW|Flags:.*NOW' || say "$so" "is not bound at once"
readelf -W -r "$so" | grep -q -E 'TLSDESC|DTPMOD' && say "$so" "has TLS that may be allocated on first use"
exit $rc
