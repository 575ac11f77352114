#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Python's call stacks add to an operator, at three depths of the stack, and modules to a call of one, beside torch.profiler's;
what native stacks add to an operator; and what a marker python: adds to a call of its function while nothing is recorded.

python_bench.py --build DIR [--python PYTHON] [--rounds N] [--marker | --native]; prints Markdown tables.
Processes take turns, with each of the options and without; of each the best of many short loops
counts, and of the rounds the median.
"""
import argparse
import contextlib
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

DEPTHS = (5, 20, 60)
OPS, LOOPS = 2000, 15
ROWS = (("one line", "one"), ("three lines in turn", "three"))
NATIVE_ROWS = (*ROWS, ("one line, each frame called by C", "by c"))


def work(depth, lines):
    import torch
    x, y = torch.ones(1), torch.ones(1)
    add = x.add_

    def one():
        begin = time.perf_counter_ns()
        for _ in range(OPS):
            add(y)
        return (time.perf_counter_ns() - begin) / OPS

    def three():
        begin = time.perf_counter_ns()
        for _ in range(OPS // 3):
            add(y)
            add(y)
            add(y)
        return (time.perf_counter_ns() - begin) / (OPS // 3 * 3)

    def at(n):
        return at(n - 1) if n else three() if lines == "three" else one()

    def by_c(n):
        return next(map(by_c, [n - 1])) if n else one()
    return (by_c if lines == "by c" else at)(depth - 4)   # the module's, main's, this function's and the loop's own frame


def module():
    """Nanoseconds of a call of a module that does nothing."""
    import torch
    identity, x = torch.nn.Identity(), torch.ones(1)
    begin = time.perf_counter_ns()
    for _ in range(OPS):
        identity(x)
    return (time.perf_counter_ns() - begin) / OPS


def modules(window):
    times = []
    for _ in range(LOOPS):
        with window():
            times.append(module())
    return min(times)


def ours():
    """In the process that is recorded: nanoseconds for each operator of each row."""
    step = getattr(ctypes.CDLL(None), "proflaunch_step", lambda: None)
    step()
    work(5, "one")
    step()   # the next one ends a wait, and opens a window
    found = {}
    for _, lines in NATIVE_ROWS:
        for depth in DEPTHS:
            times = []
            for _ in range(LOOPS):
                step()
                times.append(work(depth, lines))
                step()
            found[f"{lines}{depth}"] = min(times)

    @contextlib.contextmanager
    def window():
        step()
        yield
        step()
    found["module"] = modules(window)
    print(json.dumps(found))


def torchs(stack):
    from torch.profiler import ProfilerActivity, profile
    found = {}
    for _, lines in ROWS:
        for depth in DEPTHS:
            times = []
            for _ in range(LOOPS):
                with profile(activities=[ProfilerActivity.CPU], with_stack=stack):
                    times.append(work(depth, lines))
            found[f"{lines}{depth}"] = min(times)
    found["module"] = modules(lambda: profile(activities=[ProfilerActivity.CPU], with_stack=stack))
    print(json.dumps(found))


def step(inside=None):
    return inside and inside()


def other(inside=None):
    return inside and inside()


def call(function):
    begin = time.perf_counter_ns()
    for _ in range(100000):
        function()
    return (time.perf_counter_ns() - begin) / 100000


def calls():
    """A call of each, and of each within a call of the same."""
    found = {}
    for function in (step, other):
        found[function.__name__] = min(call(function) for _ in range(LOOPS))
        found[function.__name__ + " inside"] = min(function(lambda: call(function)) for _ in range(LOOPS))
    print(json.dumps(found))


def run(args, who, log):
    words = [args.python, os.path.abspath(__file__), "--who", who]
    if who.startswith("calls"):
        words = [os.path.join(args.build, "proflaunch"), "-q", "--logdir", log, "--schedule", "wait=1000000000,active=1",
                 "--marker", "python:step" + who[5:], "--", *words]
    if who.startswith("ours"):
        words = [os.path.join(args.build, "proflaunch"), "-q", "--logdir", log,
                 "--schedule", "wait=1,active=1", "--format", "json.gz",
                 *{"ours stack": ["--with-stack"], "ours modules": ["--with-modules"], "ours native": ["--native-stacks=ops"],
                   "ours both": ["--with-stack", "--native-stacks=ops"]}.get(who, []), "--", *words]
    answer = subprocess.run(words, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout.splitlines()[-1])


def table(args):
    rounds = {who: [] for who in ("ours", "ours stack", "ours modules", "torch", "torch stack")}
    for _ in range(args.rounds):
        for who, found in rounds.items():
            with tempfile.TemporaryDirectory() as log:
                found.append(run(args, who, log))
    print("| ns per operator, outermost | depth | recorded | + stack | torch.profiler | + with_stack |")
    print("| --- | --- | --- | --- | --- | --- |")
    for text, lines in ROWS:
        for depth in DEPTHS:
            def of(who, key=f"{lines}{depth}"):
                return [found[key] for found in rounds[who]]

            def added(who):
                return statistics.median(b - a for a, b in zip(of(who), of(who + " stack")))
            print(f"| {text} | {depth} | {statistics.median(of('ours')):.0f} | **{added('ours'):+.0f}** | "
                  f"{statistics.median(of('torch')):.0f} | {added('torch'):+.0f} |")
    print("| ns per call of a module | recorded | + modules | + stack | torch.profiler | + with_stack |")
    print("| --- | --- | --- | --- | --- | --- |")
    modules_of = {who: [one["module"] for one in found] for who, found in rounds.items()}

    def more(than, who):
        return statistics.median(b - a for a, b in zip(modules_of[than], modules_of[who]))
    print(f"| Identity | {statistics.median(modules_of['ours']):.0f} | **{more('ours', 'ours modules'):+.0f}** | "
          f"{more('ours', 'ours stack'):+.0f} | {statistics.median(modules_of['torch']):.0f} | {more('torch', 'torch stack'):+.0f} |")


def native_table(args):
    rounds = {who: [] for who in ("ours", "ours native", "ours both")}
    for _ in range(args.rounds):
        for who, found in rounds.items():
            with tempfile.TemporaryDirectory() as log:
                found.append(run(args, who, log))
    print("\n| ns per operator, outermost | depth | recorded | + native stack | + both stacks |")
    print("| --- | --- | --- | --- | --- |")
    for text, lines in NATIVE_ROWS:
        for depth in DEPTHS:
            plain, native, both = ([found[f"{lines}{depth}"] for found in rounds[who]] for who in rounds)
            print(f"| {text} | {depth} | {statistics.median(plain):.0f} | "
                  f"**{statistics.median(b - a for a, b in zip(plain, native)):+.0f}** | "
                  f"{statistics.median(b - a for a, b in zip(plain, both)):+.0f} |")


def marker_table(args):
    print("\n| ns per call of a marked function, nothing recorded | plain | added |")
    print("| --- | --- | --- |")
    for text, who, key in (("a step ends where it returns", "calls", ""), ("where it begins", "calls@begin", ""),
                           ("a call within that ends none", "calls", " inside")):
        plain, added = [], []
        for _ in range(args.rounds):
            with tempfile.TemporaryDirectory() as log:
                found = run(args, who, log)
            plain.append(found["other" + key])
            added.append(found["step" + key] - found["other" + key])
        print(f"| {text} | {statistics.median(plain):.0f} | **{statistics.median(added):+.0f}** |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--python", default=None)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--marker", action="store_true", help="the second table alone")
    parser.add_argument("--native", action="store_true", help="that table alone")
    parser.add_argument("--who", default=None)
    args = parser.parse_args()
    args.python = args.python or os.path.join(args.build, "venv", "bin", "python")
    if args.who is None:
        if not args.marker and not args.native:
            table(args)
        if not args.marker:
            native_table(args)
        if not args.native:
            marker_table(args)
    elif args.who.startswith("calls"):
        calls()
    elif args.who.startswith("ours"):
        ours()
    else:
        torchs(args.who == "torch stack")


if __name__ == "__main__":
    main()
