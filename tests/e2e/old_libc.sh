#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The agent loads under an older Debian's C library, with every symbol bound at once,
# and the program there is none the wiser; whether or not the libraries that its C library
# keeps threads and dlsym in are there.
root=$BUILD/suite-bullseye
loader=$(echo "$root"/lib64/ld-linux-x86-64.so.2)
[ -e "$root/bin/dash" ] && [ -e "$root/lib/x86_64-linux-gnu/libc.so.6" ] ||
	{ echo "an older Debian's libc could not be had at set-up"; exit 77; }
[ -x "$loader" ] || loader=$(echo "$root"/lib/x86_64-linux-gnu/ld-2.*.so)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
agent=$BUILD/libproflaunch.so
old() { "$loader" --library-path "$root/lib/x86_64-linux-gnu" "$@"; }

version=$(strings "$root/lib/x86_64-linux-gnu/libc.so.6" | sed -n 's/^GNU C Library.*version \([0-9.]*[0-9]\).*/\1/p')
echo "C library $version"
script='echo out; echo err >&2; (exit 3); echo $?; exit 7'
old "$root/bin/dash" -c "$script" > "$work/want" 2> "$work/want.err"
want=$?

# under PRELOAD NAME=VALUE...: the script, with the same output and status as without us.
under() {
	preload=$1
	shift
	env LD_BIND_NOW=1 PROF_LOGDIR="$work/log" PROF_MARKER=none PROF_QUIET=1 "$@" \
		"$loader" --library-path "$root/lib/x86_64-linux-gnu" --preload "$preload" \
		"$root/bin/dash" -c "$script" > "$work/got" 2> "$work/got.err"
	got=$?
	cat "$work/got.err"
	[ "$want" = "$got" ] || { echo "exit status $got, without us $want"; exit 1; }
	cmp "$work/want" "$work/got" || exit 1
}

# A trace, or the spool of a program that ended by _exit.
recorded() { [ -n "$(find "$work/log" -name '*.json*' -o -name '*.spool')" ]; }

# As the launcher sets it there.
under "$agent:libpthread.so.0:libdl.so.2" PROF_MALLOC=all
cmp "$work/want.err" "$work/got.err" || exit 1
recorded || { echo "nothing was recorded"; exit 1; }
rm -rf "$work/log"

# The agent alone: it says once why it does nothing; below a launcher it says nothing.
for mode in off count sample all; do
	under "$agent" PROF_MALLOC=$mode
	grep -v '^proflaunch\[[0-9]*\]: .* libpthread.so.0 and libdl.so.2, too$' "$work/got.err" |
		cmp - "$work/want.err" || exit 1
	[ "$(wc -l < "$work/got.err")" = 2 ] || exit 1
done
under "$agent" PROF_JOB=/nonexistent
cmp "$work/want.err" "$work/got.err" || exit 1
[ ! -e "$work/log" ] || { echo "something was recorded"; exit 1; }

# A program that brings both itself is recorded.
PROF_LOGDIR=$work/log PROF_MALLOC=all PROF_MARKER=none PROF_QUIET=1 \
	old --preload "$agent" "$root/usr/bin/perl" -e 'print "out\n"' > "$work/got" 2>&1
[ "$(cat "$work/got")" = out ] && recorded ||
	{ cat "$work/got"; echo "perl was not recorded"; exit 1; }

# Its setuid stops every thread of the process, ours with it, by a signal of its own.
if [ "$(id -u)" = 0 ]; then
	script='for (1 .. 200) { $> = 65534; $> = 0 } $< = $> = 65534; print "$< $>\n"'
	PROF_LOGDIR=$work/log PROF_MALLOC=all PROF_MARKER=time:20 PROF_QUIET=1 timeout 60 \
		"$loader" --library-path "$root/lib/x86_64-linux-gnu" --preload "$agent" \
		"$root/usr/bin/perl" -e "$script" > "$work/got" 2>&1
	[ "$(head -n 1 "$work/got")" = '65534 65534' ] ||
		{ cat "$work/got"; echo "setuid with a thread of ours"; exit 1; }
fi

# It was really there, and not left out by the loader with a warning.
LD_BIND_NOW=1 old --preload "$agent" "$root/bin/dash" \
	-c 'while read -r line; do case $line in *libproflaunch.so*) exit 0 ;; esac; done < /proc/$$/maps; exit 1' ||
	{ echo "the agent was not loaded"; exit 1; }
