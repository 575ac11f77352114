#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh PYTHON PROGRAM - is our trace of the program equal to torch.profiler's?
#
# The program runs twice with torch.profiler in it, once without us and once with:
# its output and exit status must not differ, then the traces of the second run are
# compared, one for each process that has torch.profiler.
# run: timeout 300
set -u
python=$1
prog=$2
here=$(dirname "$0")
name=$(basename "$prog" .py)
prefix=$($python -c 'import sys; print(sys.prefix.strip("/").replace("/", "-"))')
work=${FIDELITY_WORK:-$BUILD/fidelity/$prefix}/$name
rm -rf "$work"
mkdir -p "$work/plain" "$work/torch"

$python "$here/needs.py" "$prog" || exit 77

export PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1
FIDELITY_OUT=$work/plain $python "$prog" > "$work/plain.out" 2> "$work/plain.err"
want=$?
FIDELITY_OUT=$work/torch "$BUILD/proflaunch" --logdir "$work/log" --marker none \
	--record-shapes --profile-memory ${FIDELITY_OPTIONS-} -- \
	$python "$prog" > "$work/ours.out" 2> "$work/ours.err"
got=$?

fail() { echo "$1"; tail -n 15 "$work/plain.err" "$work/ours.err"; exit 1; }
[ "$want" = 0 ] || fail "exit status $want without us"
[ "$got" = 0 ] || fail "exit status $got with us, $want without"
cmp "$work/plain.out" "$work/ours.out" || fail "the program's output changed"

rc=0
for torch in "$work"/torch/*.json; do
	[ -e "$torch" ] || fail "the program has no trace of torch.profiler's"
	pid=$(basename "$torch" .json)
	ours=$(find "$work/log" -name "*_$pid.*.pt.trace.json")
	[ -n "$ours" ] || fail "no trace of ours for process $pid"
	python3 "$here/compare.py" "$torch" "$ours" "$prog" || rc=1
done
# shellcheck disable=SC2046 - no blanks in these names
python3 "$here/../readers/strict.py" $(find "$work/log" -name '*.pt.trace.json') || rc=1
exit $rc
