#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --c-calls adds to a call of a C function: by its module's table, by the interpreter's events; beside cProfile.

c_calls_bench.py --build DIR [--python PYTHON ...] [--rounds N]; prints a Markdown table.
Processes take turns. Of each the best of many short loops counts, and of the rounds the median. "ufunc" is numpy.abs
of a number, where numpy can be imported: neither the events nor cProfile tell of it, proflaunch sees it in both ways.
"""
import argparse
import array
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

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
    words = [python, os.path.abspath(__file__), "--work", how]
    if how in MODULES:
        words = [os.path.join(args.build, "proflaunch"), "-q", "--logdir", log, "--marker", "none", "--buffer-mb", "1024",
                 "--c-calls=" + MODULES[how], "--", *words]
    out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return json.loads(out.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--python", action="append")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--work")
    args = parser.parse_args()
    if args.work:
        return work(args.work)
    print("| Python | what | bare, ns | table adds | all adds | cProfile adds | all / cProfile |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for python in args.python or [sys.executable]:
        version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
        found = {way: [] for way in WAYS}
        for _ in range(args.rounds):
            for way in WAYS:
                with tempfile.TemporaryDirectory() as log:
                    found[way].append(run(args, python, way, log))
        for what in found["bare"][0]:
            middle = {way: statistics.median(one[what] for one in found[way]) for way in WAYS}
            added = {way: middle[way] - middle["bare"] for way in WAYS}
            ratio = f"{added['all'] / added['cProfile']:.2f}" if what != "ufunc" else "-"
            print(f"| {version} | {what} | {middle['bare']:.0f} | {added['table']:.0f} | {added['all']:.0f} | "
                  f"{added['cProfile']:.0f} | {ratio} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
