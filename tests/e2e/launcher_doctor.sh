#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doctor: what is well, what is off, and that it leaves nothing behind.
. tests/e2e/launcher.inc

run doctor -- sh -c 'touch started'
want 0 $status "doctor for a shell"
has 'libproflaunch.so can be preloaded' out "the agent"
has 'All is well.' out "the end"
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

# A Python, with torch or without.
python=python3
run doctor -- $python train.py
if $python -c 'import torch' 2> /dev/null; then
	want 0 $status "doctor for Python"
	has 'ok   PyTorch: torch ' out "torch is found"
	has 'record: good' out "its layout is known"
else
	want 1 $status "doctor for a Python without torch"
	has 'cannot import torch' out "it is said"
fi
TMPDIR=$work/tmp; export TMPDIR; mkdir "$TMPDIR"
run doctor -- $python train.py
want '' "$(ls -A "$TMPDIR")" "what is left in TMPDIR"
