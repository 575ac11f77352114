#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --with-stack=full adds to a call of a Python function, beside cProfile, and torch.profiler's with_stack.

python_calls_bench.py --build DIR [--python PYTHON ...] [--rounds N]; prints a Markdown table.
Processes take turns. Of each the best of many short loops counts, and of the rounds the median. "mixed" is two
functions of Python's and three of C's with some work; the others are functions that do nothing.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

CALLS, LOOPS = 2000, 60


def nothing():
    pass


def inner(x):
    return len(x) + 1


def mixed_call():
    x = [3, 1, 2]
    x.sort()
    return sum(x) + inner(x)


def loop(function):
    calls = range(CALLS)
    begin = time.perf_counter_ns()
    for _ in calls:
        function()
    return (time.perf_counter_ns() - begin) / CALLS


def deep(n, function):
    return deep(n - 1, function) if n else loop(function)


def generate():
    while True:
        yield


def measure():
    return {"call": min(loop(nothing) for _ in range(LOOPS)),
            "30 deep": min(deep(30, nothing) for _ in range(LOOPS)),
            "generator": min(loop(generate().__next__) for _ in range(LOOPS)),
            "mixed": min(loop(mixed_call) for _ in range(LOOPS))}


def work(how):
    if how == "cProfile":
        import cProfile
        profiler = cProfile.Profile()
        profiler.enable()
        found = measure()
        profiler.disable()
    elif how == "torch":
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CPU], with_stack=True):
            found = measure()
    else:
        found = measure()
    print(json.dumps(found))


def run(args, python, how, log):
    words = [python, os.path.abspath(__file__), "--work", how]
    if how == "full":
        words = [os.path.join(args.build, "proflaunch"), "-q", "--logdir", log, "--marker", "none", "--buffer-mb", "1024",
                 "--with-stack=full", "--", *words]
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
    print("| Python | what | bare, ns | full adds | cProfile adds | torch with_stack adds | full / cProfile |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for python in args.python or [sys.executable]:
        has_torch = not subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode
        ways = ["bare", "full", "cProfile"] + ["torch"] * has_torch
        version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
        found = {way: [] for way in ways}
        for _ in range(args.rounds):
            for way in ways:
                with tempfile.TemporaryDirectory() as log:
                    found[way].append(run(args, python, way, log))
        for what in found["bare"][0]:
            middle = {way: statistics.median(one[what] for one in found[way]) for way in ways}
            added = {way: middle[way] - middle["bare"] for way in ways}
            print(f"| {version} | {what} | {middle['bare']:.0f} | {added['full']:.0f} | {added['cProfile']:.0f} | "
                  + (f"{added['torch']:.0f}" if has_torch else "-")
                  + f" | {added['full'] / added['cProfile']:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
