#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that preloading would break, or that it cannot reach, run without it.
. tests/e2e/launcher.inc
cc=${CC:-cc}
command -v "$cc" > /dev/null || { echo "no C compiler"; exit 77; }
cat > prog.c <<'P'
#include <stdio.h>
#include <stdlib.h>
int main(void) { puts(getenv("LD_PRELOAD") ? "agent" : "alone"); return 6; }
P
# expect WORD TEXT COMMAND...
expect() {
	word=$1 text=$2; shift 2
	run -- "$@"
	want 6 $status "$*: status"
	want "$word" "$(cat out)" "$*"
	[ -z "$text" ] || has "$text" err "$*"
}
$cc -o plain prog.c && expect agent '' ./plain
$cc -static -o static prog.c && expect alone 'is linked statically' ./static
$cc -static-pie -o static_pie prog.c && expect alone 'is linked statically' ./static_pie
tried=0
for compiler in gcc clang; do
	for san in address:AddressSanitizer thread:ThreadSanitizer; do
		$compiler -fsanitize=${san%:*} -o "san" prog.c 2> /dev/null || continue
		./san > /dev/null 2>&1; [ $? = 6 ] || continue	# does it run here at all?
		expect alone "is built with ${san#*:}" ./san
		tried=$((tried + 1))
	done
done
[ $tried -gt 0 ] || echo "no compiler here makes sanitized programs: not tried"
$compiler -fsanitize=undefined -o ubsan prog.c 2> /dev/null && expect agent '' ./ubsan

# Scripts: what counts is their interpreter.
printf '#!%s/static\n' "$work" > a.script && printf '#! /usr/bin/env -S sh -e\n%s; exit 6\n' \
	'test -n "$LD_PRELOAD" && echo agent' > b.script && chmod 755 ?.script
expect alone 'is linked statically' ./a.script
expect agent '' ./b.script
printf '\177ELF' > elf; chmod 755 elf
run -- ./elf
want 126 $status "a broken ELF file"
# An ELF file for another processor: e_machine says so.
cp plain other && printf '\267' | dd of=other bs=1 seek=18 conv=notrunc 2> /dev/null
run -- ./other
want 126 $status "another processor's program"
has 'another processor' err "it is said"
python3 - <<'P' || exit 1
data = open("plain", "rb").read()
at = data.index(b"/lib64/ld-linux-x86-64.so.2")
open("musl", "wb").write(data[:at] + b"/lib/ld-musl-x86_64.so.1\0\0\0" + data[at + 27:])
P
chmod 755 musl
run doctor -- ./musl
has 'is linked to musl' out "musl"
want 1 $status "doctor for musl"

# setuid: only root can make one of somebody else's, and only others gain by it.
if [ "$(id -u)" = 0 ] && command -v setpriv > /dev/null; then
	chmod 755 "$work"; cp plain raised; chmod 4755 raised; mkdir -m 777 open
	status=0
	(cd open && setpriv --reuid 65534 --clear-groups --regid 65534 "$prof" -- ../raised) \
		> out 2> err || status=$?
	if grep -q 'Permission denied' err; then
		echo "the build folder is closed to other users: setuid not tried"
	else
		want 6 $status "setuid: status"
		has 'is setuid' err "setuid"
	fi
fi

# Where the environment was cleared nobody can know what ran there, and nothing is said of it.
run --logdir none -- env -i "$work/plain"
want 6 $status "env -i: status"
want alone "$(cat out)" "env -i"
has 'no program that ran under proflaunch (1: env) loaded PyTorch or CUDA, and others started without it: was the environment cleared (env -i, sudo)?' \
	err "env -i"
has '1 program ran without being profiled: 1 started without LD_PRELOAD' err "env -i: what was seen"
run --logdir none -- sh -c './plain; ./plain; exit 6'
has 'no program that ran under proflaunch (3: plain 2, sh 1) loaded PyTorch or CUDA.' err "who had the agent"
! grep -q 'ran without being profiled' err || fail "all of these had the agent"
