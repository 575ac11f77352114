#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same training steps, recorded by torch.profiler and by us in one run: the plugin's
# data model and HolisticTraceAnalysis must come to the same numbers, in both dialects, and
# with the heap recorded, too.
# run: timeout 300
# run: long
set -eu
here=tests/readers
python=$BUILD/venv/bin/python
work=$BUILD/readers/numbers
rm -rf "$work"
mkdir -p "$work"
record() {	# FOLDER DIALECT [option...]
	folder=$1 dialect=$2; shift 2
	rm -rf "$folder"
	"$BUILD/proflaunch" --logdir "$folder/ours" --dialect "$dialect" "$@" \
		--schedule wait=1,warmup=1,active=4,repeat=1 --record-shapes --profile-memory -- \
		$python $here/stepper.py "$folder/torch" > "$work/out" 2> "$work/err" ||
		{ cat "$work/err"; exit 1; }
	files=$(find "$folder/ours" -maxdepth 1 -name '*.pt.trace.json' | wc -l)
	[ "$files" = 1 ] || { echo "$dialect: $files files"; cat "$work/err"; exit 1; }
	python3 $here/strict.py "$folder"/ours/*.json
	python3 -m json.tool "$folder"/ours/*.json > /dev/null
	rm -rf "$folder/ours/.proflaunch"
}

# Two observers look at the clock one after the other: a thread that loses its processor
# in between shows in one of them only, at an operator that chance picks. What is wrong shows
# at the same one each time. Beside the records of each malloc, which take time of their own,
# times are not compared at all.
same() {	# DIALECT off|all
	times=times
	[ "$2" = off ] || times=none
	for try in 1 2 3 4 5; do
		record "$work/$1-$2" "$1" --malloc "$2" --buffer-mb 2048
		status=0
		$python $here/plugin.py "$work/$1-$2"/torch/*.json "$work/$1-$2"/ours/*.json $times \
			> "$work/said" || status=$?
		cat "$work/said"
		[ $status != 0 ] || return 0
		sed -n 's/: torch .*//p; / table only$/p' "$work/said" | sort -u > "$work/now"
		[ -s "$work/now" ] || return 1
		[ $try = 1 ] || { comm -12 "$work/now" "$work/each" > "$work/both"; mv "$work/both" "$work/now"; }
		mv "$work/now" "$work/each"
		[ -s "$work/each" ] || { echo "$*: nothing differs each time"; return 0; }
	done
	echo "$*: this differs each time:"
	cat "$work/each"
	return 1
}

for dialect in kineto tb043; do
	for heap in all off; do
		same $dialect $heap
	done
done
# HolisticTraceAnalysis takes seconds to begin: once for all.
$python $here/hta_run.py "$work"/*/
