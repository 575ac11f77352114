#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --python-events adds to a garbage collection, an import and a wait for the lock.

python_events_bench.py --build DIR [--python PYTHON ...] [--rounds N]; prints a Markdown table.
Processes take turns. Of each the best of many short loops counts, and of the rounds the median. The collection is of
the youngest generation, with nothing in it. In `idle` no window is open: the first one, of the process's start, has
ended. Of an import, which takes some 10 us, and of a wait, which takes ms, no loop would show ns: these are what the
traces say, which time one event in 64.
"""
import gc
import glob
import json
import os
import statistics
import sys
import time

import by_python

LOOPS, TIMES = 40, 500
TOLD = "gil", "import"


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


def cost_of(log):
    with open(glob.glob(os.path.join(log, "*.json"))[0], encoding="utf-8") as file:
        return json.load(file)["proflaunch"]["cost"].get("ns per python event")


def run(args, python, how, log):
    given = ["--buffer-mb", "256", "--python-events", how if how in TOLD else "all"]
    given += ["--marker", "python:boundary", "--schedule", "wait=0,active=1,repeat=1"] if how == "idle" else ["--marker", "none"]
    said = by_python.launched(args, python, how, log, None if how == "bare" else given)
    return cost_of(log) if how in TOLD else said


def rows(args, python):
    found = by_python.rounds(args, python, ["bare", "idle", "row", *TOLD], run)
    told = {way: [cost for cost in found.pop(way) if cost] for way in TOLD}
    for what, bare, added in by_python.added(found):
        yield what, f"{bare:.0f}", f"{added['idle']:+.0f}", f"{added['row']:+.0f}"
    for way, costs in told.items():
        yield f"{way}, as the trace says", "-", "-", f"{statistics.median(costs):+.0f}"


if __name__ == "__main__":
    sys.exit(by_python.main(__doc__, work, ["what", "bare, ns", "idle adds", "a row adds"], rows))
