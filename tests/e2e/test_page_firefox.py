#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""The page in a real Firefox: all that test_page.py asks of Chromium."""
import os
import runpy
import sys

import browser
import firefox

if not firefox.PROGRAM:
    print("there is no Firefox here")
    sys.exit(77)
browser.Browser = firefox.Firefox
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "test_page.py"), run_name="__main__")
