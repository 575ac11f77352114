#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh - the fuzzers, built with sanitizers; FUZZ_S seconds each (20), FUZZ_SEED.
set -eu
seconds=${FUZZ_S:-20}
seed=${FUZZ_SEED:-$(date +%s)}
plain=$BUILD
san=$BUILD-address-undefined
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

BUILD=$plain make --no-print-directory "$plain/prog/symbols"
BUILD=$san make --no-print-directory SAN=address,undefined "$san/libunit.a"
for name in config text spool unwind trace symbols image; do
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I. -O1 -g -fsanitize=address,undefined \
		-fno-sanitize-recover=all -pthread -o "$san/fuzz_$name" \
		"tests/fuzz/fuzz_$name.c" "$san/libunit.a" -l:libdeflate.a -l:libiberty.a -l:libz.a -lm
done

# Spools as a killed program leaves them, one for each way to record the heap.
spools=
for malloc in off count sample all; do
	LD_PRELOAD=$(realpath "$plain/libproflaunch.so") PROF_LOGDIR=$work/log \
		PROF_SPOOL=$work/$malloc PROF_MARKER=none PROF_BUFFER_MB=8 PROF_QUIET=1 \
		PROF_MALLOC=$malloc PROF_MALLOC_SAMPLE_KB=1 PROF_PYTHON_STACK=ops PROF_PYTHON_EVENTS=all \
		"$plain/prog/edges" leave 5 > /dev/null 2>&1 || true
	spool=$(find "$work/$malloc" -name '*.spool' -size +0 | head -n 1)
	[ -n "$spool" ] || { echo "the killed program left no spool"; exit 1; }
	spools="$spools $spool"
done

"$san/fuzz_config" "$seconds" "$seed"
"$san/fuzz_text" "$seconds" "$seed"
# shellcheck disable=SC2086 - one argument for each
"$san/fuzz_spool" "$seconds" "$seed" $spools
"$san/fuzz_unwind" "$seconds" "$seed"
"$san/fuzz_trace" "$seconds" "$seed" tests/fuzz/trace.json
"$san/fuzz_trace" "$seconds" "$seed" tests/golden/one_of_each_gpu.kineto.json
"$san/fuzz_symbols" "$seconds" "$seed" "$plain/prog/symbols"
"$san/fuzz_image" "$seconds" "$seed" "$plain/prog/symbols" "$plain/proflaunch"
