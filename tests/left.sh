#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# left.sh before | left.sh after FOLDER - what a run of the tests leaves on the machine.
#
# `before` prints the names that are there.  `after` reads them from FOLDER/before and
# prints what is there now: processes of the run's tests, by the name of the test in
# their environment; files in a test's own folder, where it passed; other new names in
# /tmp and /dev/shm, which may be another program's.  What torch, TensorBoard and chromium
# leave behind wherever they run is not ours to tell.
set -u
others='^(torchelastic_|torchinductor_|\.tensorboard-info|org\.chromium\.|hsperfdata_)'

names() { find /tmp /dev/shm -mindepth 1 -maxdepth 1 2>/dev/null | sort; }

processes() {
	grep -l -s -F "TEST_OF=$1 " /proc/[0-9]*/environ | while read -r file; do
		test=$(tr '\0' '\n' 2>/dev/null < "$file" | sed -n "s|^TEST_OF=$1 ||p" | head -n 1)
		pid=${file#/proc/}; pid=${pid%/environ}
		echo "process $pid of $test: $(tr '\0' ' ' 2>/dev/null < "/proc/$pid/cmdline" | cut -c 1-120)"
	done
}

files() {
	for folder in "$1"/test.*; do
		[ -e "$folder/failed" ] && continue
		find "$folder/tmp" -mindepth 1 -maxdepth 1 -printf "%f of $(cat "$folder/test")\n" 2>/dev/null |
			grep -E -v "$others"
	done
}

case $1 in
before) names ;;
after)
	# A finisher has work to do after the program's end.
	for _ in 1 2 3 4 5; do
		[ -n "$(processes "$2")" ] || break
		sleep 1
	done
	found=$(processes "$2"; files "$2"; names | comm -13 "$2/before" - | grep -v -F -x "$2")
	[ -z "$found" ] || printf '== left behind\n%s\n' "$found" ;;
esac
