#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is what the closing words say of our overhead true?

    cost_bench.py [--build build] [--python PYTHON] [--pairs 9] [program...]

Eight programs, each with operators, shapes, malloc = sample and malloc = all. The truth is
the processor time of the program's own threads, which they say themselves, with and without
us, one run after the other by turns; where that is too noisy for a machine, --at-once runs
both at the same time on one processor, where the finisher and our own thread take their
share of the caches as well. Beside it stands what proflaunch says ("about 20 ms of
overhead"). Medians of pairs; one recording window from the program's start to its end; a
run that drops anything is an error.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import beside

parser = argparse.ArgumentParser()
parser.add_argument("--build", default="build")
parser.add_argument("--python")
parser.add_argument("--pairs", type=int, default=9)
parser.add_argument("--at-once", action="store_true")
parser.add_argument("programs", nargs="*")
args = parser.parse_args()
BUILD = os.path.abspath(args.build)
PYTHON = os.path.abspath(args.python or BUILD + "/venv/bin/python")
WORK = tempfile.mkdtemp()
HERE = os.path.dirname(os.path.abspath(__file__))
NS = {"ms": 1e6, "s": 1e9}


def python(name):
    return [PYTHON, HERE + "/cost_work.py", name]


def pairs(number, *more):
    return [BUILD + "/heap/pair", str(number), *map(str, more)]


PROGRAMS = {
    "operators": python("operators"), "training": python("training"),
    "convolutions": python("convolutions"), "import torch": python("import"),
    "texts": python("texts"), "pairs": pairs(10_000_000, 13),
    "stacks anew": pairs(3_000_000, 13, 1, 64, 6), "two threads": pairs(3_000_000, 13, 2),
}
MODES = {"operators": [], "shapes": ["--record-shapes", "on"], "sample": ["--malloc", "sample"],
         "all": ["--malloc", "all"]}
ENV = {k: v for k, v in os.environ.items() if not k.startswith("PROF_") and k != "LD_PRELOAD"}
ENV["PYTHONMALLOC"] = "malloc"


def used(command, output):
    """ns; a pair's program says them for one pair, of its slowest thread."""
    last = output.strip().splitlines()[-1]
    if last.isdigit():
        return int(last)
    threads = int(command[command.index("13") + 1]) if command[-1] == "2" else 1
    return float(re.search(r'"cpu": ([0-9.]+)', last)[1]) * int(command[1]) * threads


def said(path):
    with open(path, encoding="utf-8") as file:
        words = file.read()
    if "not recorded" in words:
        raise SystemExit(words)
    found = re.search(r"about ([0-9.]+) (ms|s) of overhead", words)
    return float(found[1]) * NS[found[2]] if found else 0.0


def one_pair(command, options):
    """(ns without us, ns with us, ns as told)"""
    log, words = WORK + "/log", WORK + "/words"
    watched = ["/bin/sh", "-c", 'exec 2>"$0"; exec "$@"', words, BUILD + "/proflaunch", "--logdir",
               log, "--marker", "none", "--buffer-mb", "4096", *options, "--", *command]
    if args.at_once:
        bare, with_us = (out for out, _ in beside.at_once([(command, ENV), (watched, ENV)], WORK))
    else:
        bare, with_us = (subprocess.run(way, env=ENV, cwd=WORK, text=True, check=True,
                                        stdout=subprocess.PIPE).stdout for way in (command, watched))
    shutil.rmtree(log, ignore_errors=True)
    return used(command, bare), used(command, with_us), said(words)


def main():
    print("| program | mode | alone, s | added, s | added | told, s | told / added |")
    print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    bad = 0
    for name in args.programs or PROGRAMS:
        for mode, options in MODES.items():
            found = [one_pair(PROGRAMS[name], options) for _ in range(args.pairs)]
            alone = statistics.median(bare for bare, _, _ in found)
            added = statistics.median(with_us - bare for bare, with_us, _ in found)
            told = statistics.median(words for _, _, words in found)
            large = added > 0.05 * alone
            right = not large or 0.7 * added <= told <= 1.3 * added
            bad += not right
            ratio = f"{told / added:.2f}" + ("" if right else " **no**") if large else "–"
            print(f"| {name} | {mode} | {alone / 1e9:.2f} | {added / 1e9:.3f} | {100 * added / alone:.1f} % "
                  f"| {told / 1e9:.3f} | {ratio} |", flush=True)
    shutil.rmtree(WORK)
    return bad


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
