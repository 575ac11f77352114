#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --python-events adds to a garbage collection, an import and a wait for the lock.

python_events_bench.py --build DIR [--python PYTHON ...] [--rounds N]; prints a Markdown table.
Processes take turns. Of each the best of many short loops counts, and of the rounds the median. The collection is of
the youngest generation, with nothing in it. In `idle` no window is open: the first one, of the process's start, has
ended. Of an import, which takes some 10 us, and of a wait, which takes ms, no loop would show ns: these are what the
traces say, which time one event in 64.
"""
import argparse
import gc
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

LOOPS, TIMES = 40, 500


def boundary():
    pass


def best(function):
    found = []
    for _ in range(LOOPS):
        begin = time.perf_counter_ns()
        for _ in range(TIMES):
            function()
        found.append((time.perf_counter_ns() - begin) / TIMES)
    return min(found)


def import_one():
    import xxsubtype     # pylint: disable=import-error,unused-import,import-outside-toplevel
    del sys.modules["xxsubtype"]


def import_none():
    import sys as found     # pylint: disable=unused-import,import-outside-toplevel,reimported


def handovers(n):
    import threading
    stop = []

    def spin():
        while not stop:
            pass
    thread = threading.Thread(target=spin)
    thread.start()
    for _ in range(n):
        time.sleep(.0001)
    stop.append(1)
    thread.join()


def work(how):
    if how == "gil":
        handovers(300)
        return
    if how == "import":
        for _ in range(5000):
            import_one()
        return
    gc.disable()
    if how == "idle":
        boundary()
    for _ in range(100):
        gc.collect(0)
    print(json.dumps({"collection": best(lambda: gc.collect(0)),
                      "import of what is there": best(import_none)}))


def run(args, python, how, log):
    words = [python, os.path.abspath(__file__), "--work", how]
    given = {"idle": ["--marker", "python:boundary", "--schedule", "wait=0,active=1,repeat=1"]}
    if how != "bare":
        words = [os.path.join(args.build, "proflaunch"), "-q", "--logdir", log, "--buffer-mb", "256", "--python-events",
                 how if how in ("gil", "import") else "all", *given.get(how, ["--marker", "none"]), "--", *words]
    out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return json.loads(out.strip().splitlines()[-1]) if out.strip() else {}


def cost_of(log):
    with open(glob.glob(os.path.join(log, "*.json"))[0], encoding="utf-8") as file:
        return json.load(file)["proflaunch"]["cost"].get("ns per python event")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--python", action="append")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--work")
    args = parser.parse_args()
    if args.work:
        return work(args.work)
    print("| Python | what | bare, ns | idle adds | a row adds |")
    print("| --- | --- | --- | --- | --- |")
    for python in args.python or [sys.executable]:
        version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
        found = {way: [] for way in ("bare", "idle", "row")}
        told = {"gil": [], "import": []}
        for _ in range(args.rounds):
            for way in (*found, *told):
                with tempfile.TemporaryDirectory() as log:
                    said = run(args, python, way, log)
                    if way in told:
                        told[way] += [cost for cost in [cost_of(log)] if cost]
                    else:
                        found[way].append(said)
        for what in found["bare"][0]:
            middle = {way: statistics.median(one[what] for one in found[way]) for way in found}
            print(f"| {version} | {what} | {middle['bare']:.0f} | {middle['idle'] - middle['bare']:+.0f} | "
                  f"{middle['row'] - middle['bare']:+.0f} |", flush=True)
        for way, costs in told.items():
            print(f"| {version} | {way}, as the trace says | - | - | {statistics.median(costs):+.0f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
