#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --c-calls adds to a call of a C function: by its module's table, by the interpreter's events; beside cProfile.

c_calls_bench.py --build DIR [--python PYTHON ...] [--rounds N]; prints a Markdown table.
Processes take turns. Of each the best of many short loops counts, and of the rounds the median. "ufunc" is numpy.abs
of a number, where numpy can be imported: neither the events nor cProfile tell of it, proflaunch sees it in both ways.
"""
import array
import json
import math
import sys
import time

import by_python

CALLS, LOOPS = 2000, 60
MODULES = {"table": "math,array,numpy", "all": "all"}
WAYS = ["bare", "table", "all", "cProfile"]


def loop(function, *args):
    calls = range(CALLS)
    begin = time.perf_counter_ns()
    for _ in calls:
        function(*args)
    return (time.perf_counter_ns() - begin) / CALLS


def best(function, *args):
    return min(loop(function, *args) for _ in range(LOOPS))


def measure():
    found = {"function": best(math.fabs, 1.), "method": best(array.array("b", b"a").tobytes)}
    try:
        import numpy
    except ImportError:
        return found
    return {**found, "ufunc": best(numpy.abs, 1.)}


def work(how):
    if how == "cProfile":
        import cProfile
        profiler = cProfile.Profile()
        found = profiler.runcall(measure)
    else:
        found = measure()
    print(json.dumps(found))


def run(args, python, how, log):
    given = ["--marker", "none", "--buffer-mb", "1024", "--c-calls=" + MODULES.get(how, "")]
    return by_python.launched(args, python, how, log, given if how in MODULES else None)


def rows(args, python):
    for what, bare, added in by_python.added(by_python.rounds(args, python, WAYS, run)):
        yield (what, f"{bare:.0f}", f"{added['table']:.0f}", f"{added['all']:.0f}", f"{added['cProfile']:.0f}",
               f"{added['all'] / added['cProfile']:.2f}" if what != "ufunc" else "-")


if __name__ == "__main__":
    sys.exit(by_python.main(__doc__, work, [
        "what", "bare, ns", "table adds", "all adds", "cProfile adds", "all / cProfile"], rows))
