#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No line of a script stands behind an exit that always comes: what is there never runs.
find tests .ci -name '*.sh' -o -name '*.inc' -o -path '.ci/run' | sort | xargs awk '
	FNR == 1 { gone = 0; text = 0 }
	text { sub(/^\t+/, ""); if ($0 == text) text = 0; next }
	gone && NF && !/^#/ { print FILENAME ":" FNR ": behind an exit"; bad = 1; nextfile }
	/<</ { text = $0; sub(/.*<<-?[ \47"\\]*/, "", text); sub(/[^A-Za-z_].*/, "", text); next }
	/^exit( |$)/ { gone = 1 }
	END { exit bad }'
