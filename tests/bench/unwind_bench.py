#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ns per frame of a walk, by us and by libunwind and libgcc: a Markdown table.

    unwind_bench.py [--build build] [--rounds 9] [DEPTH...]

All walk the same stack in one process, by turns; a figure is the median of the processes.
"""
import argparse
import json
import os
import statistics
import subprocess

WAYS = {"unw_step": "libunwind, `unw_step`", "unw_backtrace": "libunwind, `unw_backtrace`",
        "libgcc": "libgcc", "anew": "ours, tables read anew", "table": "ours, by the table of rules",
        "last": "ours, from the last walk", "stack": "… with its number, as malloc calls it"}

parser = argparse.ArgumentParser()
parser.add_argument("--build", default="build")
parser.add_argument("--rounds", type=int, default=9)
parser.add_argument("depths", nargs="*", type=int, default=[10, 30, 60])
args = parser.parse_args()
PAIR = os.path.join(args.build, "unwind", "pair")


def main():
    if not os.path.exists(PAIR):
        print(f"no {PAIR}: make unwind")
        raise SystemExit(77)
    print("| ns per frame of a walk | " + " | ".join(WAYS.values()) + " |")
    print("| --- |" + " --- |" * len(WAYS))
    for depth in args.depths:
        found = [json.loads(subprocess.run([PAIR, str(depth)], check=True, text=True,
                                           stdout=subprocess.PIPE).stdout)
                 for _ in range(args.rounds)]
        cells = [f"{statistics.median(run[way] for run in found):.1f}" for way in WAYS]
        print(f"| {found[0]['frames']} frames | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
