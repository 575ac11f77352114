#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The agent exports the hook tables and its public entry points, and nothing else.
want=$({ printf '%s\n' proflaunch_step proflaunch_collect InitializeInjection
	sed -n 's/^HOOK([^,]*, *\([A-Za-z0-9_]*\).*/\1/p' $(find agent -name '*.def'); } | sort)
have=$(nm -D --defined-only "$BUILD/libproflaunch.so" | awk '{ print $3 }' | sort)
[ "$want" = "$have" ] && exit 0
echo "exports differ from the tables (< table, > library):"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '%s\n' "$want" > "$work/want"
printf '%s\n' "$have" | diff "$work/want" -
exit 1
