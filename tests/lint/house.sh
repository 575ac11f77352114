#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Numbers that may only fall: names, circles, repeated code (house.py, house.txt).
exec python3 tests/lint/house.py
