#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run: timeout 360
# run: alone
# Other people's programs, bare and under us: the small ones of tests/host/rows.
exec tests/host/run.py --small
