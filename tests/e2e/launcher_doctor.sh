#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doctor: what is well, what is off, and that it leaves nothing behind.
. tests/e2e/launcher.inc

run doctor -- sh -c 'touch started'
want 0 $status "doctor for a shell"
has 'libproflaunch.so can be preloaded' out "the agent"
has 'Nothing is off: what is recorded depends on what the program loads or starts.' out "the end"
[ ! -e started ] || fail "doctor started the program"
[ ! -e log ] || fail "doctor left a log directory"
run doctor
want 2 $status "doctor without a command"
run doctor -- no-such-command-anywhere
want 1 $status "a command that is not there"
has 'OFF  program: no-such-command-anywhere: command not found' out "it is said"
: > file
run doctor --logdir file/log -- sh
want 1 $status "a log directory that cannot be made"
has 'Not a directory; choose another one with --logdir' out "it is said"
run doctor --spool memory -- sh
want 0 $status "records in memory"
has 'records lie in memory' out "it is said"

# What would not be recorded, however well it could be preloaded; as the options are.
off() {
	text=$1; shift
	run doctor "$@"
	want 1 $status "doctor $*: status"
	grep '^OFF' out | grep -qF -e "$text" || { cat out; fail "doctor $*: no '$text'"; }
	! grep -q '^All is well' out || fail "doctor $*: all is well"
}
echo 'void train_step(void) {} int main(void) { train_step(); return 0; }' > plain.c
${CC:-cc} -O0 -o plain plain.c || fail "no program"
off 'nothing would be recorded: ./plain uses neither PyTorch nor CUDA' ./plain
off 'no PyTorch, which the marker torch:step waits for' --malloc all --marker torch:step ./plain
off '(did you mean symbol:train_step?): no step would end' --malloc all --marker symbol:train_stpe ./plain
off 'env starts its command without' -- env -i ./plain
off 'env starts its command without' -- env -u LD_PRELOAD sh
off 'nothing would be recorded' -- timeout 5 ./plain
off 'on_trace: gone: there is no such command' --on-trace 'gone {}' sh
run doctor --malloc all --marker symbol:train_step ./plain
want 0 $status "the heap in steps"
has 'ok   marker: symbol:train_step is a function of ./plain' out "the function"
has "All is well: the program's heap would be recorded." out "the heap"
# And so it is.
run --malloc all --marker symbol:train_step ./plain
want 0 $status "the run"
has '1 trace file in' err "the run"
run --malloc all ./plain
has 'nothing was recorded' err "the run without a marker"
if [ ! -e /proc/driver/nvidia/version ] && [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ]; then
	off 'nothing would be recorded with activities = cuda' --activities cuda sh
fi
rm -rf log

# A Python, with torch or without.
python=python3
run doctor -- $python train.py
if $python -c 'import torch' 2> /dev/null; then
	want 0 $status "doctor for Python"
	has 'ok   PyTorch: torch ' out "torch is found"
	has 'names, times and shapes of its operators can be recorded' out "its layout is known"
	has 'All is well: the operators of PyTorch would be recorded.' out "the end"
	! grep -q 'overload\|forward_thread' out || fail "what only we understand"
else
	want 1 $status "doctor for a Python without torch"
	has 'cannot import torch' out "it is said"
fi
TMPDIR=$work/tmp; export TMPDIR; mkdir "$TMPDIR"
run doctor -- $python train.py
want '' "$(ls -A "$TMPDIR")" "what is left in TMPDIR"
