#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The example under the launcher, as the demo does it, then a real TensorBoard on its log
# directory: plain and gzip, in the dialect of the released plugin.
# run: timeout 300
set -eu
work=$BUILD/readers/tensorboard
rm -rf "$work"
mkdir -p "$work"
for format in json json.gz; do
	"$BUILD/proflaunch" --logdir "$work/$format" --dialect tb043 --format $format \
		--schedule wait=1,warmup=1,active=2,repeat=2 --record-shapes --profile-memory -- \
		"$BUILD/venv/bin/python" examples/train.py --epochs 1 --workers 1 \
		> "$work/out" 2> "$work/err" || { cat "$work/err"; exit 1; }
	files=$(find "$work/$format" -maxdepth 1 -name "*.pt.trace.$format" | wc -l)
	[ "$files" = 2 ] || { echo "$format: $files files"; cat "$work/err"; exit 1; }
done
"$BUILD/venv/bin/python" tests/readers/tensorboard_run.py "$work"
