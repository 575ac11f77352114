#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The agent loads under an older Debian's C library, with every symbol bound at once,
# and the program there is none the wiser.
root=$BUILD/suite-bullseye
loader=$(echo "$root"/lib64/ld-linux-x86-64.so.2)
[ -e "$root/bin/dash" ] && [ -e "$root/lib/x86_64-linux-gnu/libc.so.6" ] ||
	{ echo "an older Debian's libc could not be had at set-up"; exit 77; }
[ -x "$loader" ] || loader=$(echo "$root"/lib/x86_64-linux-gnu/ld-2.*.so)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
old() { "$loader" --library-path "$root/lib/x86_64-linux-gnu" "$@"; }

version=$(strings "$root/lib/x86_64-linux-gnu/libc.so.6" | sed -n 's/^GNU C Library.*version \([0-9.]*[0-9]\).*/\1/p')
echo "C library $version"
script='echo out; echo err >&2; (exit 3); echo $?; exit 7'
old "$root/bin/dash" -c "$script" > "$work/want" 2> "$work/want.err"
want=$?
LD_BIND_NOW=1 PROF_LOGDIR=$work/log PROF_MARKER=none PROF_QUIET=1 \
	old --preload "$BUILD/libproflaunch.so" "$root/bin/dash" -c "$script" \
	> "$work/got" 2> "$work/got.err"
got=$?
cat "$work/got.err"
[ "$want" = "$got" ] || { echo "exit status $got, without us $want"; exit 1; }
cmp "$work/want" "$work/got" && cmp "$work/want.err" "$work/got.err" || exit 1
# It was really there, and not left out by the loader with a warning.
LD_BIND_NOW=1 old --preload "$BUILD/libproflaunch.so" "$root/bin/dash" \
	-c 'while read -r line; do case $line in *libproflaunch.so*) exit 0 ;; esac; done < /proc/$$/maps; exit 1' ||
	{ echo "the agent was not loaded"; exit 1; }
