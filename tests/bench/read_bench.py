#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reading a trace costs, next to other readers of the same file: processor time and peak memory.

read_bench.py --build DIR [--python PYTHON] [--megabytes N] [--rounds N] [--big N]; prints a Markdown
table. The file is synthetic (big_trace.c): operators with shapes, memory and stacks as torch 2.13
spells them. Readers take turns; of the rounds the least counts. A reader that is not there is left
out. --big: also a file of so many megabytes, for proflaunch alone.
"""
import argparse
import gzip
import os
import resource
import shutil
import subprocess
import sys
import tempfile

PLUGIN = ("import sys; from torch_tb_profiler.profiler.data import RunProfileData as R; "
          "R.parse('w', 's', sys.argv[1], '.').process()")
HTA = ("import sys; from hta.trace_analysis import TraceAnalysis; "
       "TraceAnalysis(trace_files={0: sys.argv[1]})")
LOAD = "import json, sys; json.load(open(sys.argv[1]))"


def cost(words):
    """CPU seconds and peak MB of a command; None: it cannot be run."""
    null = subprocess.DEVNULL
    try:
        child = subprocess.Popen(words, stdout=null, stderr=null, stdin=null)
    except OSError:
        return None
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return (used.ru_utime + used.ru_stime, used.ru_maxrss / 1024) if not child.returncode else None


def least(words, rounds):
    got = [cost(words) for _ in range(rounds)]
    return None if None in got else (min(c for c, _ in got), max(m for _, m in got))


def row(name, got, ours=None):
    if got:
        ratio = "" if ours is None else f" {got[0] / ours:,.1f}× |"
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # a child's peak counts from its fork on
        peak = f"{got[1]:,.0f}" if got[1] > own else f"< {own:,.0f}"
        print(f"| {name} | {got[0]:.3f} | {peak} |{ratio or ' |'}", flush=True)


def packed(path):
    with open(path, "rb") as plain, gzip.open(path + ".gz", "wb", 6) as out:
        shutil.copyfileobj(plain, out, 1 << 20)
    return path + ".gz"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--big", type=int, default=0)
    args = parser.parse_args()
    report = [os.path.abspath(os.path.join(args.build, "proflaunch")), "report"]
    with tempfile.TemporaryDirectory() as folder:
        maker = os.path.join(folder, "big_trace")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", maker, "tests/bench/big_trace.c"], check=True)

        def made(megabytes):
            path = os.path.join(folder, f"{megabytes}.pt.trace.json")
            with open(path, "wb") as out:
                subprocess.run([maker, str(megabytes)], stdout=out, check=True)
            return path

        path = made(args.megabytes)
        print(f"| reader, a file of {args.megabytes} MB | CPU s | peak MB | next to ours |\n| --- | --- | --- | --- |")
        ours = least([*report, path], args.rounds)
        row("**proflaunch report**", ours)
        row("… of the `.gz`", least([*report, packed(path)], args.rounds))
        row("… of 10 MB", least([*report, made(10)], args.rounds))
        if args.big:
            row(f"… of {args.big:,} MB", least([*report, made(args.big)], args.rounds))
        row("`cat`", least(["cat", path], args.rounds), ours[0])
        row("jq (`.traceEvents | length`)", least(["jq", ".traceEvents | length", path], 1), ours[0])
        for name, program in (("Python's `json.load`", LOAD), ("torch_tb_profiler: parse, process", PLUGIN),
                              ("HTA: `TraceAnalysis` (reads and prepares)", HTA)):
            row(name, least([args.python, "-c", program, path], 1), ours[0])


if __name__ == "__main__":
    main()
