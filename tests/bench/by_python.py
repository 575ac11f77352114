# SPDX-License-Identifier: Apache-2.0
"""What the benches of what Python calls have in common: a Markdown table with rows of each interpreter, in which
processes that work in several ways take turns, and of each way the median of the rounds counts."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile


def launched(args, python, how, log, words):
    """What this script's --work says; under us with these words, or bare where they are None."""
    command = [python, os.path.abspath(sys.argv[0]), "--work", how]
    if words is not None:
        command = [os.path.join(args.build, "proflaunch"), "-q", "--logdir", log, *words, "--", *command]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(out.strip().splitlines()[-1]) if out.strip() else {}


def rounds(args, python, ways, run):
    """Way -> what each round found."""
    found = {way: [] for way in ways}
    for _ in range(args.rounds):
        for way in ways:
            with tempfile.TemporaryDirectory() as log:
                found[way].append(run(args, python, way, log))
    return found


def added(found):
    """For each thing that was measured: its name, the bare median, and way -> what that adds."""
    for what in found["bare"][0]:
        middle = {way: statistics.median(one[what] for one in rows) for way, rows in found.items()}
        yield what, middle["bare"], {way: middle[way] - middle["bare"] for way in found}


def main(usage, work, columns, rows):
    """work(how) is what a process does; rows(args, python) gives an interpreter's rows."""
    parser = argparse.ArgumentParser(usage=usage)
    parser.add_argument("--build", default="build")
    parser.add_argument("--python", action="append")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--work")
    args = parser.parse_args()
    if args.work:
        return work(args.work)
    print("| " + " | ".join(["Python", *columns]) + " |")
    print("|" + " --- |" * (len(columns) + 1))
    for python in args.python or [sys.executable]:
        version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
        for row in rows(args, python):
            print("| " + " | ".join([version, *row]) + " |", flush=True)
    return 0
