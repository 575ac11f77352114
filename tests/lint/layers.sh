#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Includes point down only.  "folder: folders it may include"; with - what still points up.
rc=0
while IFS=: read -r dir ok; do
	for f in "$dir"/*.c "$dir"/*.h "$dir"/*.S; do
		[ -e "$f" ] || continue
		for inc in $(sed -n 's/^#include "\(.*\)\/[^/]*"$/\1/p' "$f"); do
			case " $dir$ok " in
			*" $inc "* | *" -$inc "*) ;;
			*) echo "$f includes $inc/"; rc=1 ;;
			esac
		done
	done
done << 'T'
base: -agent/core
config: base
agent/core: base config
agent/hooks: base config agent/core agent/unwind -agent/heap
agent/unwind: base agent/core
agent/python: base agent/core agent/hooks
agent/heap: base config agent/core agent/hooks agent/unwind
agent/cuda: base config agent/core agent/hooks agent/unwind
agent/patch: base config agent/core agent/hooks
agent/torch: base config agent/core agent/python agent/unwind
agent/sched: base config agent/core
agent/cupti: base config agent/core agent/cupti/lib agent/cupti/flow agent/cupti/client
agent/cupti/lib: base config agent/core -agent/cupti
agent/cupti/flow: base config agent/core agent/cupti/lib
agent/cupti/client: base config agent/core agent/cupti/lib agent/cupti/flow -agent/cupti
agent: base config agent/core agent/hooks agent/unwind agent/python agent/heap agent/cuda agent/patch agent/torch agent/sched agent/cupti writer
writer: base config agent/core writer/gpu writer/heap writer/python writer/symbols
writer/gpu: base config agent/core writer writer/symbols writer/python
writer/heap: base config agent/core writer writer/symbols writer/python
writer/python: base config agent/core writer writer/symbols
writer/symbols: base config agent/core writer
finisher: base config agent/core writer
report: base report/memory report/scan
report/scan: base report
report/memory: base report
report/figures: base report
report/advice: base report report/figures
report/compare: base report report/figures
report/ranks: base report report/memory report/figures
report/view: base report report/memory report/figures report/advice report/compare report/export report/ranks
report/export: base report report/memory report/figures
report/page: base report report/memory report/figures report/advice report/compare report/view report/export
launcher: base config agent/core agent/sched writer writer/symbols report report/memory report/export report/figures report/advice report/compare report/ranks report/view report/page finisher launcher/doctor launcher/completion launcher/recover launcher/symbols
launcher/completion: config launcher
launcher/doctor: base config agent/core writer finisher launcher launcher/symbols
launcher/recover: base config agent/core writer writer/symbols finisher launcher launcher/symbols
launcher/symbols: base config agent/core writer launcher
T
# Every folder that has code is in the table above.
for dir in $(git ls-files '*.c' '*.h' | sed 's|/[^/]*$||' | grep -v -e '^tests' -e '^examples' | sort -u); do
	grep -q "^$dir:" "$0" || { echo "$dir is in no layer"; rc=1; }
done
exit $rc
