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
for dialect in kineto tb043; do
	"$BUILD/proflaunch" --logdir "$work/$dialect/ours" --dialect $dialect \
		--schedule wait=1,warmup=1,active=4,repeat=1 --record-shapes --profile-memory -- \
		$python $here/stepper.py "$work/$dialect/torch" > "$work/out" 2> "$work/err" ||
		{ cat "$work/err"; exit 1; }
	files=$(find "$work/$dialect/ours" -maxdepth 1 -name '*.pt.trace.json' | wc -l)
	[ "$files" = 1 ] || { echo "$dialect: $files files"; cat "$work/err"; exit 1; }
	python3 $here/strict.py "$work/$dialect"/ours/*.json
	python3 -m json.tool "$work/$dialect"/ours/*.json > /dev/null
	$python $here/plugin.py "$work/$dialect"/torch/*.json "$work/$dialect"/ours/*.json
	rm -rf "$work/$dialect/ours/.proflaunch"
	$python $here/hta_run.py "$work/$dialect/torch" "$work/$dialect/ours"
done
