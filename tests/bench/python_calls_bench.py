#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --with-stack=full adds to a call of a Python function, beside cProfile, and torch.profiler's with_stack.

python_calls_bench.py --build DIR [--python PYTHON ...] [--rounds N]; prints a Markdown table.
Processes take turns. Of each the best of many short loops counts, and of the rounds the median. "mixed" is two
functions of Python's and three of C's with some work; the others are functions that do nothing.
"""
import json
import subprocess
import sys
import time

import by_python

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
    given = ["--marker", "none", "--buffer-mb", "1024", "--with-stack=full"]
    return by_python.launched(args, python, how, log, given if how == "full" else None)


def rows(args, python):
    has_torch = not subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode
    found = by_python.rounds(args, python, ["bare", "full", "cProfile"] + ["torch"] * has_torch, run)
    for what, bare, added in by_python.added(found):
        yield (what, f"{bare:.0f}", f"{added['full']:.0f}", f"{added['cProfile']:.0f}",
               f"{added['torch']:.0f}" if has_torch else "-", f"{added['full'] / added['cProfile']:.2f}")


if __name__ == "__main__":
    sys.exit(by_python.main(__doc__, work, [
        "what", "bare, ns", "full adds", "cProfile adds", "torch with_stack adds", "full / cProfile"], rows))
