#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the report's advice name what was planted?  Thirty programs with one problem each, fifteen without.

    bench.py [--only PATTERN] [--keep FOLDER]

A program of the CPU is run under proflaunch with real torch; a GPU's trace is invented by gpu_traces.py.
With --keep the traces stay in that folder, and are read again the next time: a changed rule needs no
new run.  Exit status: 0; 1 when fewer than 28 problems come first or fewer than 14 healthy programs
are left in peace (of all; with --only, when any program fails).
"""
import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
LAUNCHER = os.path.join(BUILD, "proflaunch")
PYTHON = os.path.join(BUILD, "venv", "bin", "python")
OPTIONS = ["--profile-memory", "on", "--with-stack", "--record-shapes", "on",
           "--schedule", "wait=3,warmup=1,active=6,repeat=1"]
FIRST_NEEDED, QUIET_NEEDED = 28, 14
FALSE_ALARM = 0.10

# The planted problem's name, and the rules of `report --explain` that speak of it.
RULES = {"gc": ["gc-pause"], "gil": ["gil-wait"]}


def record(entry, folder):
    """The trace of one program, in a folder of its own."""
    if os.path.isdir(folder) and os.listdir(folder):
        return
    if entry["name"].startswith("gpu_"):
        command = [sys.executable, os.path.join(HERE, "gpu_traces.py"), entry["name"], folder]
    else:
        program = os.path.join(HERE, "programs", entry["name"] + ".py")
        command = [LAUNCHER, "--quiet", "--logdir", folder, *OPTIONS, *entry.get("options", []),
                   "--", PYTHON, program]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(f"{entry['name']}: exit status {done.returncode}\n{done.stderr[-2000:]}")


def advice(folder):
    done = subprocess.run([LAUNCHER, "report", "--format", "json", folder], capture_output=True,
                          text=True, timeout=60, check=False)
    if done.returncode:
        raise RuntimeError(f"report {folder}: {done.stderr}")
    return json.loads(done.stdout)["advice"]


def judge(entry, told):
    """(passed, word) for one program and what the report says of it."""
    if entry["kind"] == "healthy":
        loud = [item for item in told if (item["gain_share"] or 0) > FALSE_ALARM]
        return not loud, "FALSE ALARM" if loud else "quiet"
    wanted = {rule for name in entry["rules"] for rule in RULES.get(name, [name])}
    # That recording took long is a doubt, and stands above the list of advice.
    told = [item for item in told if item["rule"] != "overhead" or "overhead" in wanted]
    found = [place for place, item in enumerate(told) if item["rule"] in wanted]
    if not found:
        return False, "MISSED"
    return found[0] == 0, "first" if found[0] == 0 else f"told at {found[0] + 1}"


def show(entry, word, told):
    said = ", ".join(f"{item['rule']} {100 * (item['gain_share'] or 0):.1f} %" for item in told) or "nothing"
    wanted = "/".join(entry.get("rules", []))
    print(f"{word:<12} {entry['name']:<22} {wanted:<22} {said}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*")
    parser.add_argument("--keep")
    given = parser.parse_args()
    with open(os.path.join(HERE, "manifest.json"), encoding="utf-8") as file:
        entries = [e for e in json.load(file) if fnmatch.fnmatch(e["name"], given.only)]
    passed = {"planted": 0, "healthy": 0}
    with tempfile.TemporaryDirectory() as scratch:
        for entry in entries:
            folder = os.path.join(given.keep or scratch, entry["name"])
            try:
                record(entry, folder)
                told = advice(folder)
                good, word = judge(entry, told)
            except (RuntimeError, subprocess.TimeoutExpired) as problem:
                good, word, told = False, "FAILED", []
                print(problem)
            passed[entry["kind"]] += good
            show(entry, word, told)
    count = {kind: sum(e["kind"] == kind for e in entries) for kind in passed}
    print(f"planted: {passed['planted']} of {count['planted']} first; "
          f"healthy: {passed['healthy']} of {count['healthy']} quiet")
    if given.only == "*":
        return passed["planted"] < FIRST_NEEDED or passed["healthy"] < QUIET_NEEDED
    return passed != count


if __name__ == "__main__":
    sys.exit(main())
