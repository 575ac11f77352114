#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 100
"""Many functions of Python's are found by their names, and told apart: tests/python/seek.py, with
the agent's own code in build/prog/python_walk.so, in every version that is here."""
import sys

import prof
from test_python_walk import each, run


def test_many_names():
    each(lambda path: run(path, "seek.py").stdout.split()[-1])


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
