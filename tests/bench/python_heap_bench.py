#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Python's call stacks add to a recorded allocation of Python's, at three depths of the stack;
of a small object, which is recorded with them alone: all that it costs.

python_heap_bench.py --build DIR [--python PYTHON] [--rounds N]; prints a Markdown table.
Processes take turns: bare, recorded, and recorded with --with-stack; of each the best of many short
loops counts, and of the rounds the median.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

DEPTHS = (5, 20, 60)
BLOCKS, LOOPS = 1000, 40
SIZE, SMALL = 1000, 200  # above what Python takes from its own pools, and below
ROWS = (("one line", "one"), ("three lines in turn", "three"), ("a small object", "small"))


def one():
    begin = time.perf_counter_ns()
    for _ in range(BLOCKS):
        bytes(SIZE)
    return (time.perf_counter_ns() - begin) / BLOCKS


def three():
    begin = time.perf_counter_ns()
    for _ in range(BLOCKS // 3):
        bytes(SIZE)
        bytes(SIZE)
        bytes(SIZE)
    return (time.perf_counter_ns() - begin) / (BLOCKS // 3 * 3)


def small():
    begin = time.perf_counter_ns()
    for _ in range(BLOCKS):
        bytes(SMALL)
    return (time.perf_counter_ns() - begin) / BLOCKS


def at(depth, loop):
    return at(depth - 1, loop) if depth else loop()


def work():
    print(json.dumps({f"{name}{depth}": min(at(depth - 3, loop) for _ in range(LOOPS))
                      for name, loop in (("one", one), ("three", three), ("small", small)) for depth in DEPTHS}))


def run(args, mode, stack, log):
    words = [args.python, os.path.abspath(__file__), "--work"]
    if mode:
        words = [os.path.join(args.build, "proflaunch"), "-q", "--logdir", log, "--malloc", mode, "--marker", "none",
                 "--buffer-mb", "1024", *(["--with-stack"] if stack else []), "--", *words]
    answer = subprocess.run(words, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout.splitlines()[-1])


def table(args):
    kinds = [("", False)] + [(mode, stack) for mode in ("all", "sample") for stack in (False, True)]
    rounds = {kind: [] for kind in kinds}
    for _ in range(args.rounds):
        for kind, found in rounds.items():
            with tempfile.TemporaryDirectory() as log:
                found.append(run(args, *kind, log))
    print("| ns per allocation and its free | depth | bare | `all` | + stack | `sample` | + stack |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for text, name in ROWS:
        for depth in DEPTHS:
            def of(*kind, key=f"{name}{depth}"):
                return [found[key] for found in rounds[kind]]

            def more(one, other):
                return statistics.median(b - a for a, b in zip(one, other))
            print(f"| {text} | {depth} | {statistics.median(of('', False)):.0f} | "
                  f"{more(of('', False), of('all', False)):+.0f} | **{more(of('all', False), of('all', True)):+.0f}** | "
                  f"{more(of('', False), of('sample', False)):+.0f} | "
                  f"**{more(of('sample', False), of('sample', True)):+.0f}** |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--python", default=None)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--work", action="store_true")
    args = parser.parse_args()
    args.python = args.python or sys.executable
    work() if args.work else table(args)


if __name__ == "__main__":
    main()
