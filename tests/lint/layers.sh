#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Includes point down only, siblings never.  "folder: folders it may include".
rc=0
while IFS=: read -r dir ok; do
	for f in "$dir"/*.c "$dir"/*.h "$dir"/*.S; do
		[ -e "$f" ] || continue
		for inc in $(sed -n 's/^#include "\(.*\)\/[^/]*"$/\1/p' "$f"); do
			case " $dir$ok " in
			*" $inc "*) ;;
			*) echo "$f includes $inc/"; rc=1 ;;
			esac
		done
	done
done << 'T'
agent/core:
agent/hooks: agent/core
agent/torch: agent/core
agent/python: agent/core
agent/cupti: agent/core
agent/sched: agent/core
writer: agent/core
agent: agent/core agent/hooks agent/torch agent/python agent/cupti agent/sched writer
launcher: agent/core agent/sched writer report
report: agent/core
T
# Every folder that has code is in the table above.
for dir in $(git ls-files '*.c' '*.h' | sed 's|/[^/]*$||' | grep -v -e '^tests' -e '^examples' | sort -u); do
	grep -q "^$dir:" "$0" || { echo "$dir is in no layer"; rc=1; }
done
exit $rc
