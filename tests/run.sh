#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh "command"... - run tests side by side and say how many passed.
#
# A test is a program, with arguments if need be: exit status 0 is a pass, 77 a skip
# (its last line is the reason), anything else a failure.  Lines "part: skipped,
# reason" of one that passes are shown beside it.  A Check suite counts as many tests
# as it holds.  A test says what it needs in lines of its own file:
#   # run: timeout 300     seconds it may take on a quiet machine; 120 without
#   # run: alone           not beside other tests: after them, one at a time
#   # run: waits           sleeps more than it works: one of these runs beside as many
#                          others as there may be
#   # run: long            begins before the others, which fill the time until its end
#   # run: full            slow, or at the mercy of the machine's load: only with FULL=1,
#                          as in `make check-full`; elsewhere it is counted as left out
#
# A failed test has a second look: it runs again, alone, after all others.  What passes
# then is flaky: named, shown and counted, and more than three are a failure.  What a
# sanitizer reported has no second look.  The last lines say of each failed and each
# flaky one how to run it, how it ended, where its files lie, and what it printed.
#
# A test has a folder of its own as TMPDIR.  What it leaves there, processes that
# outlive it and new names in /tmp and /dev/shm are listed at the end.
#
# JOBS  how many at once; one per processor without it. With 1 nothing runs beside another
# PATIENCE  how many times as long a test may take before it is ended; 3 without it. A
#       limit is for what hangs: what is slow on a busy machine is not wrong
# FLAKY=0   no second look
# FULL=1    tests, and parts of tests in Python, that are marked so run too
# TALLY a file to add the counts to, passed, failed, skipped and flaky, and
# REPORT    a file to add what failed to, for a caller that closes several runs at once;
#       without them both are printed here
set -u
export LC_ALL=C.UTF-8
# With it a test passes whose program forgets to flush what it says.
unset PYTHONUNBUFFERED
here=$(dirname "$0")
failed_files=$BUILD/failed

# what "command" - its head lines that begin with "# run: what", or nothing.
what() {
	for word in $2; do
		case $word in *.sh|*.py) sed -n "1,40s/^# run: $1 *//p" "$word" | head -n 1; return ;; esac
	done
}

is_marked() { sed -n '1,40p' "${2%% *}" 2>/dev/null | grep -q "^# run: $1"; }

# What a Check suite says at its end: "100%: Checks: 5, Failures: 0, Errors: 0".
suite_counts() {
	sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\)$/\1 \2 \3/p' "$1" |
		awk '{ print $1 - $2 - $3, $2 + $3 }' | tail -n 1
}

# how_ended STATUS SECONDS LIMIT - in words.
how_ended() {
	if [ "$1" -ge 124 ] && [ "${2%.*}" -ge "$3" ]; then echo "no end after $3 s"
	elif [ "$1" -gt 128 ] && name=$(kill -l "$1" 2>/dev/null)
	then echo "exit $1, killed by SIG$name, $2 s"
	else echo "exit $1, $2 s"
	fi
}

# one "command" [FOLDER] - run it, print its line; what is known of it lies in FOLDER.
one() {
	test=$1
	folder=${2-$(mktemp -d "$RESULTS/test.XXXXXX")}
	out=$folder/out
	mkdir -p "$folder/tmp"; chmod 711 "$folder"; chmod 1777 "$folder/tmp"
	echo "$test" > "$folder/test"
	limit=$(what timeout "$test")
	limit=$((${limit:-120} * ${PATIENCE:-3}))
	start=$(date +%s%N)
	# shellcheck disable=SC2086 - a test may have arguments
	TMPDIR=$folder/tmp TORCHINDUCTOR_CACHE_DIR=$folder/inductor TEST_OF="$RESULTS $test" \
		timeout -k 10 "$limit" $test > "$out" 2>&1 < /dev/null
	rc=$?
	took=$(( ($(date +%s%N) - start) / 100000000 ))
	took=$((took / 10)).$((took % 10))
	counts=$(suite_counts "$out")
	case $rc in
	0)   echo "${counts:-1 0} 0 0" > "$folder/count"
	     line="ok    $test ($took s)"
	     parts=$(grep -E '^[^ ].*: skipped, ' "$out" | sed 's/^/      | /')
	     [ -z "$parts" ] || line=$line$(printf '\n%s' "$parts") ;;
	77)  echo "0 0 1 0" > "$folder/count"
	     line="skip  $test: $(tail -n 1 "$out")" ;;
	*)   case $counts in ''|*' 0') counts='0 1' ;; esac
	     echo "$counts 0 0" > "$folder/count"
	     how_ended "$rc" "$took" "$limit" > "$folder/failed"
	     line="FAIL  $test ($(cat "$folder/failed"))
$(tail -n 60 "$out" | sed 's/^/      | /')" ;;
	esac
	printf '%s\n' "$line"
}

sanitizer_spoke() {
	grep -q -E 'ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|: runtime error: ' "$1"
}

# Tests that failed, in the order in which they ended.
failures() { find "$RESULTS" -maxdepth 2 -name failed -printf '%T@ %h\n' | sort -n | cut -d' ' -f2; }

# The same test alone: a pass makes of a failure a flaky one.
second_look() {
	[ "${FLAKY-}" != 0 ] || return 0
	first=$(failures)
	[ -n "$first" ] || return 0
	echo "== again, alone, what failed"
	if [ "$(echo "$first" | wc -l)" -gt 10 ]; then
		echo "more than ten failed: no second look"
		return
	fi
	for folder in $first; do
		test=$(cat "$folder/test")
		if sanitizer_spoke "$folder/out"; then
			echo "a sanitizer's report has no second look: $test"
			continue
		fi
		(one "$test" "$folder/again") > "$folder/again.line"
		if [ -e "$folder/again/failed" ]; then
			cat "$folder/again.line"
		else
			echo "flaky $test ($(cat "$folder/failed"); alone it passes)"
			read -r good bad skipped _ < "$folder/again/count"
			echo "$good $bad $skipped 1" > "$folder/count"
			touch "$folder/flaky"
		fi
	done
}

# A test whose own shell was ended (no memory, say) has said nothing, and what came behind
# it in its list has not begun: those are one failure each.
note_lost() {
	cat "$long" "$side" "$waits" "$alone" | sort > "$RESULTS/wanted"
	find "$RESULTS" -mindepth 2 -maxdepth 2 -name count | while read -r file; do cat "${file%count}test"; done |
		sort | comm -23 "$RESULTS/wanted" - > "$RESULTS/lost"
	[ -s "$RESULTS/lost" ] || return 0
	folder=$(mktemp -d "$RESULTS/test.XXXXXX")
	mv "$RESULTS/lost" "$folder/out"
	echo "these tests" > "$folder/test"
	echo "not at all: they never began, or were ended from outside" > "$folder/failed"
	echo "0 $(wc -l < "$folder/out") 0 0" > "$folder/count"
}

# Each failed test once more, for whoever reads the end alone; its files are kept.
closing_report() {
	for folder in $(failures); do
		test=$(cat "$folder/test")
		kept=$failed_files/$(echo "$test" | tr -c 'A-Za-z0-9._\n' - | tail -c 120)
		rm -rf "$kept"; mkdir -p "$failed_files"
		mv "$folder" "$kept"
		[ -e "$kept/flaky" ] && verdict=flaky: || verdict=failed:
		again=
		[ ! -e "$kept/again" ] || again="; alone: $(cat "$kept/again/failed" 2>/dev/null || echo ok)"
		cat <<-END

		$verdict BUILD=$BUILD $test
		      ended: $(cat "$kept/failed")$again
		      files: $kept
		$(tail -n 40 "$kept/out" | sed 's/^/      | /')
		END
		cat "$kept/count" >> "$RESULTS/moved"
	done
}

closing_line() {
	cat "$RESULTS"/*/count "$RESULTS/moved" 2>/dev/null | awk -v tally="${TALLY-}" '
	{ passed += $1; failed += $2; skipped += $3; flaky += $4 }
	END {
		if (tally != "")
			print passed + 0, failed + 0, skipped + 0, flaky + 0 >> tally
		else
			printf "%d passed, %d failed%s%s\n", passed, failed,
				skipped ? ", " skipped " skipped" : "", flaky ? ", " flaky " flaky" : ""
		exit failed > 0 || flaky > 3 || passed + skipped == 0
	}'
}

if [ "${1-}" = --one ]; then
	one "$2"
	exit 0
fi

RESULTS=$(mktemp -d)
export RESULTS
chmod 711 "$RESULTS"
beside=
trap 'rm -rf "$RESULTS"' EXIT
trap '[ -z "$beside" ] || kill "$beside" 2> /dev/null; exit 130' INT TERM
"$here/left.sh" before > "$RESULTS/before"
long=$RESULTS/long; side=$RESULTS/side; waits=$RESULTS/waits; alone=$RESULTS/alone; left_out=0
: > "$long"; : > "$side"; : > "$waits"; : > "$alone"
for test; do
	if [ "${FULL-}" != 1 ] && is_marked full "$test"; then left_out=$((left_out + 1))
	elif is_marked alone "$test"; then echo "$test" >> "$alone"
	elif is_marked waits "$test" && [ "${JOBS-}" != 1 ]; then echo "$test" >> "$waits"
	elif is_marked long "$test"; then echo "$test" >> "$long"
	else echo "$test" >> "$side"
	fi
done
tr '\n' '\0' < "$waits" | xargs -0 -r -n 1 "$0" --one &
beside=$!
cat "$long" "$side" | tr '\n' '\0' | xargs -0 -r -n 1 -P "${JOBS:-$(nproc)}" "$0" --one
wait "$beside"
beside=
tr '\n' '\0' < "$alone" | xargs -0 -r -n 1 "$0" --one
[ $left_out = 0 ] || echo "== left to make check-full: $left_out tests"
second_look
note_lost
"$here/left.sh" after "$RESULTS"
closing_report > "$RESULTS/report"
if [ -n "${REPORT-}" ]; then cat "$RESULTS/report" >> "$REPORT"; else cat "$RESULTS/report"; fi
closing_line
