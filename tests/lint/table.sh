#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Other people's programs: at least 120 rows, of at least 80 executables.
exec python3 tests/host/table.py
