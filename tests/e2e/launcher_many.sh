#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Eight launchers at once in one log directory: nobody disturbs another, nothing is left.
. tests/e2e/launcher.inc
round=0
while [ $round -lt 5 ]; do
	round=$((round + 1))
	pids=
	for i in 1 2 3 4 5 6 7 8; do
		"$prof" --logdir shared -- sh -c "sleep 0.0$i; echo \$PROF_JOB; exit $i" \
			> "out$i" 2> "err$i" &
		pids="$pids $!"
	done
	i=0
	for pid in $pids; do
		i=$((i + 1)); status=0
		wait $pid || status=$?
		want $i $status "launcher $i: status"
		! grep 'without being profiled' "err$i" || fail "launcher $i gave up"
		case $(cat "out$i") in
		*":$work/shared/.proflaunch/"*/page) ;;
		*) fail "launcher $i: no job page: $(cat "out$i")" ;;
		esac
	done
	want 8 "$(cat out? | sort -u | wc -l)" "job pages"
	left=$(find shared -mindepth 1 2> /dev/null)
	[ -z "$left" ] || fail "left behind: $left"
done
# Made for nothing, it goes again; one that was there before stays, with what is in it.
run --logdir new/deep -- true
[ ! -e new/deep ] || fail "an empty log directory was left behind"
mkdir kept && : > kept/mine
run --logdir kept -- true
want mine "$(ls -A kept)" "a log directory of the user's"
mkdir empty
run --logdir empty -- true
[ -d empty ] || fail "an empty log directory of the user's is gone"
# Files that one process after the other took are gone with the last one.
run --malloc all --logdir busy -- bash -c 'for ((i = 0; i < 60; i++)); do /bin/true; done'
[ -e busy/children ] || fail "60 short processes left no file"
[ ! -e busy/.proflaunch ] || fail "left behind: $(find busy/.proflaunch)"
