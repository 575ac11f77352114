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

$python "$here/needs.py" "$prog" || exit 77

export PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1
ours="$BUILD/proflaunch --marker none --record-shapes --profile-memory ${FIDELITY_OPTIONS-}"
fail() { echo "$1"; tail -v -n +1 "$work/plain.err" "$work/ours.err"; exit 1; }
died() {	# what the program wrote, then whose failure it is
	echo "$1"
	tail -v -n +1 "$work/plain.err" "$work/ours.err" 2>/dev/null
	"$here/whose.sh" "$work/whose" "$ours" "$python" "$prog"
	exit $?
}

run() {	# both ways; what must be the same is
	rm -rf "$work"
	mkdir -p "$work/plain" "$work/torch"
	FIDELITY_OUT=$work/plain $python "$prog" > "$work/plain.out" 2> "$work/plain.err"
	want=$?
	# shellcheck disable=SC2086 - words
	FIDELITY_OUT=$work/torch $ours --logdir "$work/log" -- \
		$python "$prog" > "$work/ours.out" 2> "$work/ours.err"
	got=$?
	[ "$want" = 0 ] || died "exit status $want without us"
	[ "$got" = 0 ] || died "exit status $got with us, $want without"
	cmp "$work/plain.out" "$work/ours.out" || fail "the program's output changed"
}

compare() {	# 0 equal, 1 not, 3 but for how long things took
	rc=0
	for torch in "$work"/torch/*.json; do
		[ -e "$torch" ] || fail "the program has no trace of torch.profiler's"
		pid=$(basename "$torch" .json)
		trace=$(find "$work/log" -name "*_$pid.*.pt.trace.json")
		[ -n "$trace" ] || fail "no trace of ours for process $pid"
		python3 "$here/compare.py" "$torch" "$trace" "$prog"
		case $? in 0) ;; 3) [ $rc != 0 ] || rc=3 ;; *) rc=1 ;; esac
	done
	# shellcheck disable=SC2046 - no blanks in these names
	python3 "$here/../readers/strict.py" $(find "$work/log" -name '*.pt.trace.json') || rc=1
	return $rc
}

# On a busy machine another program has the processor between two looks at the clock.
for try in 1 2 3; do
	run
	compare
	rc=$?
	[ $rc = 3 ] || exit $rc
	echo "only times differ: try $try"
done
exit 1
