#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each fault of tests/mutants/*.rows can still be planted: its text is once in its file.
exec python3 tests/mutants/mutants.py --check
