#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The agent loads into any container: libc alone, no glibc newer than 2.28, bound at
# once, no text relocations, no executable stack, TLS that needs no allocation.
so=$BUILD/libproflaunch.so
rc=0
say() { echo "$so: $1"; rc=1; }

floor=$(readelf -V "$so" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
newest=$(printf '%s\n' "$floor" GLIBC_2.28 | sort -V | tail -n 1)
[ "$newest" = GLIBC_2.28 ] || say "asks for $floor: $(nm -D "$so" | grep "$floor" | tr '\n' ' ')"

needed=$(readelf -d "$so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for library in $needed; do
	case $library in
	libc.so.6|libdl.so.2|libpthread.so.0|ld-linux*.so.*) ;;
	*) say "needs $library" ;;
	esac
done
readelf -d "$so" | grep -q -E 'TEXTREL' && say "has text relocations"
readelf -d "$so" | grep -q -E 'BIND_NOW|Flags:.*NOW' || say "is not bound at once"
readelf -d "$so" | grep -q -E 'RPATH|RUNPATH' && say "has a run path"
readelf -W -l "$so" | grep 'GNU_STACK' | grep -q 'RWE' && say "has an executable stack"
readelf -W -r "$so" | grep -q -E 'TLSDESC|DTPMOD' && say "has TLS that may be allocated on first use"
exit $rc
