#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What fails is named at the end, with how it ended and what it printed; what passes when
# it runs again alone is flaky, and more than three of those fail the run.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
runner=$(cd "$(dirname "$0")/.." && pwd)/run.sh

# a_test NAME TEXT [SECONDS]: a script that has so long.
a_test() {
	printf '#!/bin/sh\n# run: timeout %s\necho "words of %s"\n%s\n' "${3:-60}" "$1" "$2" > "$work/$1.sh"
	chmod 755 "$work/$1.sh"
}
run_all() {	# what the last lines say of these tests
	# shellcheck disable=SC2086 - words
	BUILD=$work/build PATIENCE=1 JOBS=${jobs:-2} TALLY='' REPORT='' RESULTS='' FULL='' FLAKY=$flaky "$runner" $1 > "$work/out" 2>&1
	status=$?
}
fail() { echo "$1"; cat "$work/out"; exit 1; }
want() { grep -q -F -x -- "$1" "$work/report" || fail "not in the last lines: $1"; }

a_test good :
a_test bad 'exit 1'
a_test killed 'kill -SEGV $$'
a_test hangs 'exec sleep 60' 1
for n in 1 2 3 4; do
	a_test "once$n" "[ -e $work/once$n ] || { touch $work/once$n; exit 3; }"
done
all="$work/good.sh $work/bad.sh $work/killed.sh $work/hangs.sh $work/once1.sh"

flaky=
run_all "$all"
[ $status = 1 ] || fail "status $status"
sed -n '/^failed: \|^flaky: /,$p' "$work/out" > "$work/report"
want "failed: BUILD=$work/build $work/bad.sh"
grep -q '^      ended: exit 1, [0-9.]* s; alone: exit 1' "$work/report" || fail "how bad ended"
want '      | words of bad'
grep -q '^      ended: exit 139, killed by SIGSEGV, ' "$work/report" || fail "how killed ended"
want '      | words of killed'
want '      ended: no end after 1 s; alone: no end after 1 s'
want '      | words of hangs'
want "flaky: BUILD=$work/build $work/once1.sh"
grep -q '^      ended: exit 3, [0-9.]* s; alone: ok' "$work/report" || fail "how once ended"
[ "$(tail -n 1 "$work/out")" = '2 passed, 3 failed, 1 flaky' ] || fail "the closing line"

# A flaky one passes, four do not, and without the second look there is none.
rm -f "$work/once1"
run_all "$work/good.sh $work/once1.sh"
[ $status = 0 ] || fail "one that is flaky: status $status"
rm -f "$work"/once?
run_all "$work/once1.sh $work/once2.sh $work/once3.sh $work/once4.sh"
[ $status = 1 ] || fail "four that are flaky: status $status"
rm -f "$work/once1"
flaky=0
run_all "$work/once1.sh"
[ $status = 1 ] && [ "$(tail -n 1 "$work/out")" = '0 passed, 1 failed' ] || fail "no second look: status $status"

# Who shoots the shell around it ends its list, too: neither has passed.
a_test shot 'kill -9 $(cut -d" " -f4 /proc/$PPID/stat)'
jobs=1
run_all "$work/shot.sh $work/good.sh"
jobs=
[ $status = 1 ] && [ "$(tail -n 1 "$work/out")" = '0 passed, 2 failed' ] || fail "what never ran: status $status"
grep -q "^      | $work/good.sh" "$work/out" || fail "what never ran is not named"

# As many as may run at once wait for one that waits itself: it runs beside them. What is long is first.
flaky=
for n in 1 2; do
	a_test "busy$n" "n=0; until [ -e $work/come ]; do n=\$((n + 1)); [ \$n -lt 200 ] || exit 1; sleep .1; done"
done
a_test late ":
# run: waits
touch $work/come"
a_test last ":
# run: long
[ ! -e $work/come ]"
run_all "$work/busy1.sh $work/busy2.sh $work/late.sh"
[ "$(tail -n 1 "$work/out")" = '3 passed, 0 failed' ] || fail "one that waits: status $status"
rm "$work/come"
run_all "$work/late.sh"
[ $status = 0 ] || fail "one that waits, and no other: status $status"
rm "$work/come"
a_test first "touch $work/come"
jobs=1
run_all "$work/first.sh $work/last.sh"
[ "$(tail -n 1 "$work/out")" = '2 passed, 0 failed' ] || fail "one that is long: status $status"
