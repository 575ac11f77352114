#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same training steps, recorded by torch.profiler and by us in one run: the plugin's
# data model and HolisticTraceAnalysis must come to the same numbers, in both dialects.
# run: timeout 300
set -eu
here=tests/readers
python=$BUILD/venv/bin/python
work=$BUILD/readers/numbers
rm -rf "$work"
mkdir -p "$work"
record() {	# DIALECT
	rm -rf "$work/$1"
	"$BUILD/proflaunch" --logdir "$work/$1/ours" --dialect "$1" \
		--schedule wait=1,warmup=1,active=4,repeat=1 --record-shapes --profile-memory -- \
		$python $here/stepper.py "$work/$1/torch" > "$work/out" 2> "$work/err" ||
		{ cat "$work/err"; exit 1; }
	files=$(find "$work/$1/ours" -maxdepth 1 -name '*.pt.trace.json' | wc -l)
	[ "$files" = 1 ] || { echo "$1: $files files"; cat "$work/err"; exit 1; }
	python3 $here/strict.py "$work/$1"/ours/*.json
	python3 -m json.tool "$work/$1"/ours/*.json > /dev/null
	rm -rf "$work/$1/ours/.proflaunch"
}

# Two observers look at the clock one after the other: a thread that loses its processor
# in between shows in one of them only. So what differs must differ three times.
same() {	# DIALECT
	for try in 1 2 3; do
		record "$1"
		$python $here/plugin.py "$work/$1"/torch/*.json "$work/$1"/ours/*.json && return
		echo "$1: try $try differs"
	done
	return 1
}

for dialect in kineto tb043; do
	same $dialect
	$python $here/hta_run.py "$work/$dialect/torch" "$work/$dialect/ours"
done
