#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# whose.sh FOLDER "LAUNCHER WORDS" COMMAND... - a program failed under us: does it by itself?
#
# It runs five times bare and five times under us.  Exit status 77, with the reason as
# the last line, where it fails bare too; 1 where it does not: then the failure is ours,
# were it one in a thousand.  What it wrote to stderr, and the stacks of its cores, are
# printed.
set -u
absolute() { case $1 in /*|-*) echo "$1" ;; */*) echo "$PWD/$1" ;; *) echo "$1" ;; esac; }
folder=$(absolute "$1"); ours=$(absolute "$2")
shift 2
python=$(absolute "$1") program=$(absolute "$2")
PYTHONPATH=$(absolute "${PYTHONPATH-}")
export PYTHONPATH PYTHONFAULTHANDLER=1
rm -rf "$folder"

# The stacks of what died here.
stacks() {
	for core in "$1"/core*; do
		[ -e "$core" ] || return 0
		echo "stacks of $core:"
		gdb -q -batch -ex 'thread apply all backtrace 30' "$python" "$core" 2>/dev/null |
			grep -E '^(Thread|#)' | head -n 120
		rm -f "$core"
	done
}

# five WAY LAUNCHER... - runs it; how many failed is in FOLDER/WAY.failed.
five() {
	way=$1
	shift
	failed=0
	for n in 1 2 3 4 5; do
		here=$folder/$way.$n
		mkdir -p "$here/torch"
		(cd "$here" && ulimit -c unlimited && FIDELITY_OUT=$here/torch \
			"$@" "$python" "$program" > out 2> err < /dev/null)
		status=$?
		[ $status != 0 ] || continue
		failed=$((failed + 1))
		echo "$way, run $n: exit status $status; stderr:"
		cat "$here/err"
		stacks "$here"
	done
	echo $failed > "$folder/$way.failed"
}

mkdir -p "$folder"
five bare env
# shellcheck disable=SC2086 - words
five ours $ours --logdir "$folder/log" --
bare=$(cat "$folder/bare.failed")
counts="of five runs bare $bare fail, of five under us $(cat "$folder/ours.failed")"
if [ "$bare" != 0 ]; then
	echo "$(basename "$program") fails by itself: $counts"
	exit 77
fi
echo "$(basename "$program") fails only under us: $counts, and the one before"
exit 1
