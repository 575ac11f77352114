#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a page names between backquotes and looks like a path is there.
exec python3 tests/lint/paths.py
