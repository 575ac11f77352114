#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [row...] - what recording costs, next to torch.profiler; a Markdown table; then,
# without rows, what a start and an end cost, the GPU's part, the heap's and a walk's.
# PYTHON names the interpreter whose torch is measured (default: the test environment's).
set -eu
BUILD=${BUILD:-build}
PYTHON=${PYTHON:-$BUILD/venv/bin/python}
${CC:-cc} -O2 -Wall -shared -fPIC -o "$BUILD/floor.so" tests/bench/floor.c -ldl
"$PYTHON" tests/bench/bench.py --build "$BUILD" --python "$PYTHON" "$@"
[ $# -eq 0 ] || exit 0
"$PYTHON" tests/bench/start_bench.py --build "$BUILD"
"$PYTHON" tests/bench/gpu_bench.py --build "$BUILD"
"$PYTHON" tests/bench/python_bench.py --build "$BUILD" --python "$PYTHON"
"$PYTHON" tests/bench/python_heap_bench.py --build "$BUILD" --python "$PYTHON"
tests/setup.sh bench
"$PYTHON" tests/bench/host_bench.py --build "$BUILD" --python "$PYTHON"
"$PYTHON" tests/bench/heap_bench.py --build "$BUILD" --python "$PYTHON"
"$PYTHON" tests/bench/unwind_bench.py --build "$BUILD"
"$PYTHON" tests/bench/read_bench.py --build "$BUILD" --python "$PYTHON" --big 1000
