#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh "command"... - run tests side by side and say how many passed.
#
# A test is a program, with arguments if need be: exit status 0 is a pass, 77 a skip
# (its last line is the reason), anything else a failure (its output is shown).  Lines
# "part: skipped, reason" of one that passes are shown beside it.  A
# Check suite counts as many tests as it holds.  A test says what it needs in lines
# of its own file:
#   # run: timeout 300     seconds it may take on a quiet machine; 120 without
#   # run: alone           not beside other tests: after them, one at a time
#
# JOBS  how many at once; one per processor without it
# PATIENCE  how many times as long a test may take before it is ended; 3 without it. A
#       limit is for what hangs: what is slow on a busy machine is not wrong
# TALLY a file to add the counts to, for a caller that prints one closing line for
#       several runs; without it the line is printed here
set -u
export LC_ALL=C.UTF-8

# what "command" - its head lines that begin with "# run: what", or nothing.
what() {
	file=${2%% *}
	case $file in *.sh|*.py) sed -n "1,40s/^# run: $1 *//p" "$file" | head -n 1 ;; esac
}

# What a Check suite says at its end: "100%: Checks: 5, Failures: 0, Errors: 0".
suite_counts() {
	sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\)$/\1 \2 \3/p' "$1" |
		awk '{ print $1 - $2 - $3, $2 + $3 }' | tail -n 1
}

one() {
	test=$1
	out=$(mktemp "$RESULTS/out.XXXXXX")
	limit=$(what timeout "$test")
	limit=$((${limit:-120} * ${PATIENCE:-3}))
	start=$(date +%s%N)
	# shellcheck disable=SC2086 - a test may have arguments
	timeout -k 10 "$limit" $test > "$out" 2>&1 < /dev/null
	rc=$?
	took=$(( ($(date +%s%N) - start) / 100000000 ))
	took=$((took / 10)).$((took % 10))
	counts=$(suite_counts "$out")
	case $rc in
	0)   echo "${counts:-1 0} 0" > "$out.count"
	     line="ok    $test ($took s)"
	     parts=$(grep -E '^[^ ].*: skipped, ' "$out" | sed 's/^/      | /')
	     [ -z "$parts" ] || line=$line$(printf '\n%s' "$parts") ;;
	77)  echo "0 0 1" > "$out.count"
	     line="skip  $test: $(tail -n 1 "$out")" ;;
	124|137) echo "0 1 0" > "$out.count"
	     line="FAIL  $test (no end after $limit s)" ;;
	*)   case $counts in ''|*' 0') counts='0 1' ;; esac
	     echo "$counts 0" > "$out.count"
	     line="FAIL  $test (exit $rc, $took s)" ;;
	esac
	case $line in FAIL*) line=$line$(printf '\n'; tail -n 60 "$out" | sed 's/^/      | /') ;; esac
	printf '%s\n' "$line"
}

if [ "${1-}" = --one ]; then
	one "$2"
	exit 0
fi

RESULTS=$(mktemp -d)
export RESULTS
trap 'rm -rf "$RESULTS"' EXIT
trap 'exit 130' INT TERM
side=$RESULTS/side; alone=$RESULTS/alone
: > "$side"; : > "$alone"
for test; do
	if [ -n "$(sed -n '1,40s/^# run: alone.*/x/p' "${test%% *}" 2>/dev/null | head -n 1)" ]
	then echo "$test" >> "$alone"
	else echo "$test" >> "$side"
	fi
done
tr '\n' '\0' < "$side" | xargs -0 -r -n 1 -P "${JOBS:-$(nproc)}" "$0" --one
tr '\n' '\0' < "$alone" | xargs -0 -r -n 1 "$0" --one

cat "$RESULTS"/*.count 2>/dev/null | awk -v tally="${TALLY-}" '
	{ passed += $1; failed += $2; skipped += $3 }
	END {
		if (tally != "")
			print passed + 0, failed + 0, skipped + 0 >> tally
		else
			printf "%d passed, %d failed%s\n", passed, failed,
				skipped ? ", " skipped " skipped" : ""
		exit failed > 0 || passed + skipped == 0
	}'
