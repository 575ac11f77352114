#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A function that ends no step: refused before the start, where the files of a program tell all.
. tests/e2e/launcher.inc

cat > plain.c <<'E'
__attribute__((noinline, noclone)) void train_step(void) { __asm__ volatile(""); }
static __attribute__((noinline, noclone)) void hidden_step(void) { __asm__ volatile(""); }
int library_step(void);
#ifdef OPENS
#include <dlfcn.h>
void *open_it(void) { return dlopen("x", RTLD_NOW); }
#endif
#ifdef STARTS
#include <stdlib.h>
int start_it(void) { return system("true"); }
#endif
int main(void) { train_step(); hidden_step(); return library_step(); }
E
echo 'int other_step(void) { return 0; } int library_step(void) { return other_step(); }' > library.c
echo '#include <dlfcn.h>
int library_step(void) { return dlopen("libm.so.6", RTLD_NOW) == 0; }' > opening.c
cc=${CC:-cc}
mkdir opening
$cc -shared -fPIC -o libstep.so library.c && $cc -shared -fPIC -o opening/libstep.so opening.c -ldl ||
	fail "no library"
link='-L. -lstep -Wl,-rpath,$ORIGIN'
$cc -O1 -o plain plain.c $link && $cc -O1 -DOPENS -o opens plain.c $link -ldl &&
	$cc -O1 -DSTARTS -o starts plain.c $link && $cc -O1 -o bare plain.c -L. -lstep || fail "no program"
cp plain stripped && strip stripped

# taken NAME PROGRAM, refused NAME PROGRAM TEXT: run or not, and what is said
taken() {
	run --marker "symbol:$1" -- "$2"
	want 0 $status "$1 in $2: status"
	! grep -q 'not started' err || { cat err; fail "$1 in $2"; }
}
refused() {
	run --marker "symbol:$1" -- "$2"
	want 2 $status "$1 in $2: status"
	has "--marker symbol:$1: neither $2 nor a library that it needs has such a function" err "$1 in $2"
	has "$3" err "$1 in $2"
	want 1 "$(wc -l < err)" "$1 in $2: lines"
}
taken train_step ./plain
taken hidden_step ./plain
taken library_step ./plain
taken 'libstep*!other_step' ./plain
taken memcpy ./plain
refused train_stpe ./plain '(did you mean symbol:train_step?)'
refused nothing_like_it ./plain 'and it loads no other: no step would end'
refused 'libother*!other_step' ./plain 'so the command was not started'
refused hidden_step ./stripped 'it is stripped: local functions have no names'
# What may come later is told at the end, and keeps nothing from running.
taken nothing_like_it ./opens
has 'marker symbol:nothing_like_it: there is no such function' err "at the end"
taken nothing_like_it ./starts
LD_LIBRARY_PATH=$work/opening; export LD_LIBRARY_PATH
taken nothing_like_it ./bare
unset LD_LIBRARY_PATH
printf '#!/bin/sh\n./plain\n' > script && chmod 755 script
taken nothing_like_it ./script
printf '#!/usr/bin/env python3\n' > script
taken nothing_like_it ./script
has 'marker symbol:nothing_like_it: there is no such function' err "a script, at the end"
# In another launcher, and where the user says so, it is a line.
run --keep-going --marker symbol:train_stpe -- ./plain
want 0 $status "--keep-going"
has 'loads no other (did you mean symbol:train_step?): no step will end' err "it is said"
PROF_JOB=1:$work/gone; export PROF_JOB
run --marker symbol:train_stpe -- ./plain
want 0 $status "inside of another launcher"
