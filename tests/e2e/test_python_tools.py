#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
# run: waits
"""Python's small objects where a tool stands between the program and its allocators: debug hooks,
tracemalloc, memray. They are recorded once, as the program gets them, and nothing of us stays."""
import json
import os
import sys

import prof
from test_python_memory import VENV, interpreters, whole
from test_python_objects import SMALL, run_objects, sites_of

MANY = {"PYTHONMALLOC=debug": 1, "PYTHONDEVMODE=1": 1, "PYTHONTRACEMALLOC=1": 1, "PYTHONMALLOC=malloc_debug": 0}


def live_of(sites, calls):
    return [sum(s[what] for s in sites if s["call"] in calls) for what in ("blocks", "live")]


def test_each_object_is_of_its_line():
    for version, path in interpreters().items():
        for said, pools in MANY.items():
            for mode in ("all", "sample") if said == "PYTHONMALLOC=debug" else ("all",):
                with prof.folder() as log:
                    run, expected = run_objects(path, log, malloc=mode, malloc_sample_kb=4, buffer_mb=1024,
                                                env=dict([said.split("=")]))
                    trace = whole(run)
                    assert trace.facts["python objects"]["exchanged"] is False, (version, said)
                    for line, (count, size) in expected.items():
                        sites = sites_of(trace, line)
                        blocks, live = live_of(sites, SMALL)
                        if mode == "sample":
                            # Five standard errors: three came by chance, once in some twenty runs of all this.
                            assert abs(live - size) < 5 * (size * 4096) ** .5, (version, said, line, size, live)
                        elif pools:
                            assert size <= live < size + 4096, (version, said, line, size, sites)
                            assert count <= blocks < count + 20, (version, said, line, count, sites)
                        else:       # malloc's, with what debug hooks put around each
                            blocks, live = live_of(sites, ("malloc", "calloc", "realloc"))
                            assert size + 24 * count <= live < size + 33 * count + 65536, (version, line, size, sites)
                    gone = [s for s in trace.facts["heap"]["sites"] if "dropped" in s.get("Call stack", "").split(";")[0]]
                    assert sum(s["live"] for s in gone) < 65536, (version, said, gone)
                    assert trace.facts["heap"]["total"].get("implied_frees", 0) < 50, (version, said)


# When it begins and ends: by its own numbers, what its lines have made and kept.
TRACED = """
import _json, gc, json, os, sys, time, tracemalloc
when, out = sys.argv[1:]
N = 3000
def pairs(made):
    for i in range(N):
        made[i] = tuple(made[:21])
def texts(made):
    for i in range(N):
        made[i] = bytes(150)
def moved(made):
    for i in range(N):
        made[i] = bytearray(30)
        made[i].extend(bytes(300))
        if i % 2:
            made[i] = None
kept = []
def work():
    for one in (pairs, texts, moved):
        kept.append([None] * N)
        one(kept[-1])
numbers = {}
def take():
    gc.collect()
    for s in tracemalloc.take_snapshot().statistics("lineno"):
        if s.traceback[0].filename == "<string>":
            numbers[s.traceback[0].lineno] = [s.count, s.size]
if when != "early":
    work()
    kept.clear()
    tracemalloc.start()
work()
take()
if when == "stops":
    tracemalloc.stop()
    doomed = [bytes(77) for _ in range(N)]
    del doomed
    kept.append([{"a": i} for i in range(N)])
with open(out, "w") as file:
    json.dump(numbers, file)
os._exit(0)
"""
LINES = {6: "pairs", 9: "texts"}


def test_tracemalloc_says_the_same():
    for version, path in interpreters().items():
        for when in ("early", "begins", "stops"):
            with prof.folder() as log:
                out = os.path.join(log, "numbers")
                early = ["-X", "tracemalloc"] if when == "early" else []
                run = prof.launch([path, *early, "-c", TRACED, when, out], log, python_stack="ops", malloc="all",
                                  marker="none", buffer_mb=1024)
                with open(out, encoding="utf-8") as file:
                    numbers = json.load(file)
                trace = whole(run)
                assert trace.facts["python objects"]["exchanged"] is False, (version, when)
                sites = trace.facts["heap"]["sites"]
                for line, name in LINES.items():
                    blocks, live = live_of([s for s in sites if s.get("Call stack", "").startswith(
                        f"<string>({line + 1}): {name}")], SMALL)
                    count, size = numbers[str(line + 1)]
                    # Integers that are kept as well are of the line before.
                    assert abs(blocks - count) < 20 and abs(live - size) < 2000, (version, when, name, blocks, count,
                                                                                live, size)
                late = [s for s in sites if s.get("Call stack", "").startswith("<string>(38)") and s["call"] in SMALL]
                assert (sum(s["blocks"] for s in late) >= 2900) == (when == "stops"), (version, when, late)
                gone = [s for s in sites if s.get("Call stack", "").startswith("<string>(36)")]
                assert sum(s["live"] for s in gone) < 4096, (version, when, gone)
                assert trace.facts["heap"]["total"].get("implied_frees", 0) < 50, (version, when)


# A step ends where this function returns: the window opens and ends there.
STEPS = """
import _json, ctypes, random, sys, time, tracemalloc
class Allocator(ctypes.Structure):
    _fields_ = [("word", ctypes.c_void_p * 5)]
get = ctypes.pythonapi.PyMem_GetAllocator
def there():
    found = []
    for domain in range(3):
        a = Allocator()
        get(domain, ctypes.byref(a))
        found.append(list(a.word))
    return found
def work():
    return [bytearray(900), [bytes(i) for i in range(300)], {i: str(i) for i in range(100)}]
def step():
    work()
def ended(found):
    "What a window leaves is gone when its end was heard of; a tool's leavings at their first call."
    until = time.time() + 60
    while there() != found and time.time() < until:
        work()
        time.sleep(.01)
    return there() == found
"""

LEFT = STEPS + """
when = sys.argv[1]
if when == "over":
    tracemalloc.start()
before = there()
step()
within = there()
kept = work()
if when in ("begins", "again", "stays"):
    tracemalloc.start()
kept.append(work())
if when == "again":
    tracemalloc.stop()
    tracemalloc.start()
step()
time.sleep(.3)
del kept
work()
if when in ("begins", "again"):
    tracemalloc.stop()
if when == "stays":
    within_it = there()
    step(), step()      # a window with ours in front of it, and that of before behind it
    tracemalloc.stop()
print([a == b for a, b in zip(before, within)], [a[0] == b[0] for a, b in zip(before, within)], ended(before))
"""


def test_nothing_is_left():
    """The functions alone are others in a window. A tool that has found ours in it puts them back later."""
    for version, path in interpreters().items():
        for when, env in (("never", {}), ("never", {"PYTHONMALLOC": "debug"}), ("over", {}), ("begins", {}), ("again", {}), ("stays", {}), ("begins", {"PYTHONMALLOC": "debug"}),
                          ("stays", {"PYTHONMALLOC": "debug"})):
            with prof.folder() as log:
                run = prof.launch([path, "-c", LEFT, when], log, env=env, python_stack="ops", malloc="all",
                                  marker="python:step", schedule="wait=1,warmup=0,active=1")
                assert run.out == "[True, False, False] [True, True, True] True\n", (version, when, env, run.out, run.err)


# Debug hooks look whether they are there already, and find ours.
TWICE = STEPS + """
before = there()
step()
kept = work()
print(before != there())
ctypes.pythonapi.PyMem_SetupDebugHooks()
kept = work()
step()
for i in range(4):
    kept = work()
    step()
print(there() == before)
"""


def test_debug_hooks_that_are_asked_for_twice():
    for version, path in interpreters().items():
        with prof.folder() as log:
            run = prof.launch([path, "-c", TWICE], log, env={"PYTHONMALLOC": "debug"}, python_stack="ops", malloc="all",
                              marker="python:step", schedule="wait=1,warmup=0,active=1")
            assert run.out == "True\nTrue\n", (version, run.out, run.err)
            assert "not recorded: PyMem_SetupDebugHooks was called within a window" in run.err, (version, run.err)
            first, *others = sorted(run.traces(), key=lambda trace: trace.facts["window"]["number"])
            assert first.facts["python objects"]["exchanged"] is True, (version, first.facts["python objects"])
            assert others and all(t.facts["python objects"] == {"unseen": True} for t in others), version


TURNS = STEPS + """
random.seed(sys.argv[1])
kept, before = [], there()
for i in range(200):
    do = random.choice((step, step, tracemalloc.start, tracemalloc.stop, work, kept.clear))
    if do is work:
        kept.append(work())
    else:
        do()
tracemalloc.stop()
while random.random() < .5:
    step()
    work()
step()
print("done")
"""


def test_it_begins_and_ends_at_any_time():
    for version, path in interpreters().items():
        for env in ({}, {"PYTHONMALLOC": "debug"}, {"PYTHONTRACEMALLOC": "1"}):
            for mode in ("all", "sample"):
                with prof.folder() as log:
                    run = prof.launch([path, "-c", TURNS, mode + str(env)], log, env=env, python_stack="ops", malloc=mode,
                                      malloc_sample_kb=4, marker="python:step", schedule="wait=1,warmup=0,active=1")
                    assert run.out == "done\n", (version, env, mode, run.out, run.err)
                    recorded = 0
                    for trace in run.traces():
                        said, heap = trace.facts["python objects"], trace.facts["heap"]
                        objects = [s for s in heap["sites"] if s["call"] in SMALL]
                        assert all(s["live"] >= 0 for s in objects), (version, env, mode)
                        assert bool(said["exchanged"]) != bool(objects) or not objects, (version, env, mode, said)
                        assert heap["total"].get("implied_frees", 0) < 50, (version, env, mode, heap["total"])
                        recorded += bool(objects)
                    assert recorded > 3, (version, env, mode, recorded, run.err)


def need_memray():
    if prof.plain([VENV, "-c", "import memray"]).returncode:
        raise prof.Skip("memray is not there: tests/setup.sh memray")


# A tool with a list of its own, which is asked in the end.
MEMRAY = """
import _json, gc, json, os, sys, memray
when, out, record = sys.argv[1:]
N = 3000
def pairs(made):
    for i in range(N):
        made[i] = tuple(made[:21])
def texts(made):
    for i in range(N):
        made[i] = bytes(150)
def gone():
    for i in range(N):
        bytes(170)
kept = []
def work():
    for one in (pairs, texts):
        kept.append([None] * N)
        one(kept[-1])
    gone()
if when == "late":
    work()
    kept.clear()
with memray.Tracker(record, trace_python_allocators=True, native_traces=False):
    work()
numbers = {}
for r in memray.FileReader(record).get_leaked_allocation_records(merge_threads=True):
    stack = r.stack_trace(1)
    if stack and stack[0][1] == "<string>":
        was = numbers.get(stack[0][2], [0, 0])
        numbers[stack[0][2]] = [was[0] + r.n_allocations, was[1] + r.size]
with open(out, "w") as file:
    json.dump(numbers, file)
os._exit(0)
"""


def test_memray_says_the_same():
    need_memray()
    for when in ("early", "late"):
        with prof.folder() as log:
            out = os.path.join(log, "numbers")
            run = prof.launch([VENV, "-c", MEMRAY, when, out, os.path.join(log, "record")], log, python_stack="ops",
                              malloc="all", marker="none", buffer_mb=1024)
            with open(out, encoding="utf-8") as file:
                numbers = json.load(file)
            trace = whole(run)
            assert trace.facts["python objects"]["exchanged"] is False, when
            sites = trace.facts["heap"]["sites"]
            for line, name in LINES.items():
                blocks, live = live_of([s for s in sites if s.get("Call stack", "").startswith(
                    f"<string>({line + 1}): {name}")], SMALL)
                count, size = numbers[str(line + 1)]
                assert abs(blocks - count) < 20 and abs(live - size) < 2000, (when, name, blocks, count, live, size)
            kept = [s for s in sites if ": gone" in s.get("Call stack", "").split(";")[0] and s["call"] in SMALL]
            assert sum(s["live"] for s in kept) < 4096, (when, kept)


def test_memray_runs_the_program():
    need_memray()
    with prof.folder() as log:
        program = os.path.join(prof.HERE, "..", "python", "objects.py")
        expected, record = os.path.join(log, "expected"), os.path.join(log, "record")
        run = prof.launch([VENV, "-m", "memray", "run", "--trace-python-allocators", "-o", record, program, expected],
                          log, python_stack="ops", malloc="all", marker="none", buffer_mb=1024)
        with open(expected, encoding="utf-8") as file:
            lines = json.load(file)
        trace = whole(run)
        assert trace.facts["python objects"]["exchanged"] is False, trace.facts["python objects"]
        for line, (count, size) in lines.items():
            blocks, live = live_of(sites_of(trace, line), SMALL)
            assert size <= live < size + 4096 and blocks >= count, (line, count, size, blocks, live)


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
