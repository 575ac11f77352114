#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
# run: waits
"""Python's small objects, which malloc does not see: their bytes, their line, and no trace of us."""
import json
import os
import sys

import prof
from test_python_memory import interpreters, whole

SMALL = ("PyObject_Malloc", "PyMem_Malloc")
PROGRAM = os.path.join(prof.HERE, "..", "python", "objects.py")


def run_objects(path, log, **given):
    out = os.path.join(log, "expected")
    run = prof.launch([path, PROGRAM, out], log, **{"python_stack": "ops", "marker": "none", **given})
    assert run.status == 0 and not run.out, run.err
    with open(out, encoding="utf-8") as file:
        return run, json.load(file)


def sites_of(trace, line):
    return [s for s in trace.facts["heap"]["sites"] if s.get("Call stack", "").split(";")[0] == line]


def test_each_object_is_of_its_line():
    for version, path in interpreters().items():
        with prof.folder() as log:
            run, expected = run_objects(path, log, malloc="all", buffer_mb=1024)
            trace = whole(run)
            assert trace.facts["python objects"]["exchanged"] is False, trace.facts
            for line, (count, size) in expected.items():
                sites = sites_of(trace, line)
                assert sum(s["live"] for s in sites) >= size, (version, line, size, sites)
                # The line makes its own text, and what keeps it; the interpreter new pools.
                made = sum(s["live"] for s in sites if s["call"] in SMALL)
                assert made < size + 4096, (version, line, size, sites)
                assert sum(s["blocks"] for s in sites) >= count, (version, line, count, sites)
            gone = [s for s in trace.facts["heap"]["sites"] if "dropped" in s.get("Call stack", "").split(";")[0]]
            assert sum(s["live"] for s in gone) < 4096, (version, gone)


def test_a_program_that_leaves_at_once_has_them():
    """As workers of multiprocessing do: nobody ends its last window."""
    for path in interpreters().values():
        with prof.folder() as log:
            run = prof.launch([path, "-c", "import _json, os; kept = [[] for _ in range(5000)]; os._exit(0)"], log,
                              python_stack="ops", marker="none", malloc="all")
            assert run.status == 0, run.err
            facts = whole(run).facts["python objects"]
            assert not facts.get("unseen") and "small objects:" not in run.err, (path, facts, run.err)


# A window in which malloc is not called: whoever opens it exchanges the allocators.
QUIET = """
import atexit, json, time
kept, n = [None] * 100000, 0
time.sleep(.3)
until = time.time() + .6
while time.time() < until:
    for i in range(100):
        kept[n] = bytes(200)
        n += 1
    time.sleep(.005)
"""


def test_a_program_that_makes_objects_alone():
    for version, path in interpreters().items():
        for mode in ("all", "sample") if version > (3, 8) else ():
            with prof.folder() as log:
                run = prof.launch([path, "-c", QUIET], log, python_stack="ops", malloc=mode, malloc_sample_kb=4,
                                  marker="time:300", schedule="wait=1,warmup=0,active=2,repeat=1")
                facts = run.only().facts
                assert facts["python objects"]["exchanged"] is False, (version, mode, facts["python objects"])
                assert [s for s in facts["heap"]["sites"] if s["call"] in SMALL], (version, mode)


# Windows of 15 ms; the interpreter is found in the first, or before it.
MANY = """
import math, time
kept, until = [], time.time() + .5
while time.time() < until:
    kept.append([{"a": i} for i in range(200)])
    if len(kept) > 50:
        del kept[:]
    bytearray(3000)
"""


def test_each_of_many_windows_has_them():
    for version, path in interpreters().items():
        with prof.folder() as log:
            run = prof.launch([path, "-c", MANY], log, python_stack="ops", malloc="all", marker="time:15",
                              schedule="wait=1,warmup=0,active=1")
            said = [prof.Trace(p).facts["python objects"] for p in run.paths()]
            assert sum(s is not None and s.get("exchanged") is False for s in said) > 2, (version, said)
            assert not [s for s in said if s and s.get("exchanged")], (version, said)
            # In a window of 15 ms a loaded machine may not run the program at all.
            assert len([s for s in said if s and s.get("unseen")]) < len(said), (version, said)


# What grows in place, or moves from pool to pool and to malloc: blocks are where they are.
GROW = """
import math, os
def text():
    big = bytearray(600)
    for i in range(100):
        big.extend(bytes(50000))
    return big
def lists():
    made = []
    for _ in range(50):
        one = []
        for i in range(5000):
            one.append(None)
        made.append(one)
    return made
kept = text(), lists()
os._exit(0)
"""


def test_what_grows_is_live():
    for version, path in interpreters().items():
        for mode in ("all", "sample"):
            live = {}
            for objects in ("on", "off"):
                with prof.folder() as log:
                    run = prof.launch([path, "-c", GROW], log, python_stack="ops", malloc=mode, malloc_sample_kb=1,
                                      marker="none", python_heap=objects)
                    heap = run.only().facts["heap"]
                    assert heap["total"].get("implied_frees", 0) < 50, (version, mode, objects, heap["total"])
                    live[objects] = [sum(s["live"] for s in heap["sites"] if s["call"] not in SMALL and
                                         s.get("Call stack", "").split(";")[0].endswith(": " + name))
                                     for name in ("text", "lists")]
            # Samples of 1 KB have each such block, and more.
            assert all(live["on"]) and all(abs(a - b) < 20000 for a, b in zip(*live.values())), (version, mode, live)


# Objects of 0 bytes are malloc's.
NOTHING = """
import itertools, os
def make():
    return [itertools.combinations((1, 2), 0) for _ in range(5000)]
kept = make()
os._exit(0)
"""


def test_what_is_nothing_is_counted_once():
    path = interpreters()[max(interpreters())]
    with prof.folder() as log:
        heap = prof.launch([path, "-c", NOTHING], log, python_stack="ops", malloc="all",
                           marker="none").only().facts["heap"]
        assert heap["total"].get("implied_frees", 0) < 50, heap["total"]
        site, = [s for s in heap["sites"] if s["call"] == "malloc" and s["allocs"] == 5000]
        assert site["live"] == site["blocks"] == 5000, site


# A tool without a context, the same for both domains: it begins within a window, and calls ours.
TOOL = """
import ctypes, sys, time
tool = ctypes.PyDLL(sys.argv[1])
def work(seconds):
    until = time.time() + seconds
    while time.time() < until:
        kept = [bytes(100) for _ in range(200)]
        bytearray(3000)
        time.sleep(.001)
work(.1)
for i in range(4):
    tool.begin_tool()
    work(.15)
    tool.end_tool()
    work(.02)
print("done", tool.blocks_seen() > 0)
"""


def test_a_tool_that_looks_like_the_interpreters_own():
    for version, path in interpreters().items():
        for mode in ("all", "sample"):
            with prof.folder() as log:
                run = prof.launch([path, "-c", TOOL, prof.prog("python_tool.so")], log, python_stack="ops",
                                  malloc=mode, malloc_sample_kb=4, marker="time:15",
                                  schedule="wait=1,warmup=0,active=1")
                assert run.status == 0 and run.out == "done True\n", (version, mode, run.status, run.err)


# Nothing of this is seen by malloc: small dicts.
DICTS = """
import json, os, time
kept = {}
def note(i):
    kept[i] = {"a": i, "b": None}
for step in range(24):
    for i in range(3000):
        note((step, i))
    time.sleep(.02)
os._exit(0)
"""


def test_dicts_that_pile_up_are_a_leak():
    for version, path in interpreters().items():
        for mode in ("all", "sample"):
            with prof.folder() as log:
                script = os.path.join(log, "dicts.py")
                with open(script, "w", encoding="utf-8") as file:
                    file.write(DICTS)
                run = prof.launch([path, script], log, python_stack="ops", malloc=mode, malloc_sample_kb=16,
                                  marker="time:20", schedule="wait=0,warmup=0,active=1000,repeat=1")
                file, = run.paths()
                said = prof.plain([prof.LAUNCHER, "memory", "--leaks", file])
                assert said.returncode == 1, (version, mode, said.stdout, said.stderr)
                assert "dicts.py(5): note" in said.stdout, (version, mode, said.stdout)
                said = prof.plain([prof.LAUNCHER, "memory", file])
                assert "Python's objects of up to 512 bytes are in it" in said.stdout, said.stdout


def test_samples_are_right_on_average():
    for version, path in interpreters().items():
        with prof.folder() as log:
            run, expected = run_objects(path, log, malloc="sample", malloc_sample_kb=4)
            trace = whole(run)
            for line, (_, size) in expected.items():
                live = sum(s["live"] for s in sites_of(trace, line))
                # Some 150 samples and more: 5 deviations are less than half.
                assert abs(live - size) < .5 * size, (version, line, size, live)


def test_off_by_its_option():
    path = interpreters()[max(interpreters())]
    for given in ({"python_heap": "off"}, {"python_stack": "off"}):
        with prof.folder() as log:
            run, expected = run_objects(path, log, malloc="all", **given)
            trace = run.only()
            assert "python objects" not in trace.facts, trace.facts
            assert not [s for s in trace.facts["heap"]["sites"] if s["call"].startswith("Py")]


# Another tool's allocators: before the window, from within it, and gone within it.
TRACED = """
import time, tracemalloc, sys
kept = []
def work(seconds):
    until = time.time() + seconds
    while time.time() < until:
        kept.append([bytes(100) for _ in range(100)])
        time.sleep(.01)
when = sys.argv[1]
work(.15)
if when != "before":
    tracemalloc.start()
work(.15)
print(tracemalloc.get_traced_memory()[0] > 0)
if when != "stays":
    tracemalloc.stop()
work(.15)
"""


def test_beside_tracemalloc():
    for version, path in interpreters().items():
        for when in ("before", "within", "stays"):
            with prof.folder() as log:
                early = ["-X", "tracemalloc"] if when == "before" else []
                run = prof.launch([path, *early, "-c", TRACED, when], log, python_stack="ops", malloc="all", marker="none")
                assert run.out == "True\n", (version, when, run.out, run.err)
                facts = run.only().facts
                # What it puts back at its end is what it has found: not ours, where it was there before.
                gone = when == "before"
                assert facts["python objects"]["exchanged"] is gone, (version, when, facts["python objects"])
                assert ("1 window without Python's small objects" in run.err) == gone, (version, when, run.err)
                objects = [s for s in facts["heap"]["sites"] if s["call"] in SMALL]
                assert bool(objects) != gone, (version, when, objects)


# Large blocks: what is freed is free, whoever stands between the program and malloc.
LARGE = """
import os, tracemalloc
kept = []
def keep():
    for _ in range(1000):
        kept.append(bytes(5000))
def grow():
    for _ in range(300):
        block = bytearray()
        for _ in range(200):
            block.extend(b"12345678")
        del block[10:]
        kept.append(block)
for traced in (False, True, False):
    if traced:
        tracemalloc.start()
    keep()
    grow()
    kept.clear()
    if traced:
        tracemalloc.stop()
os._exit(0)
"""


def test_what_is_freed_is_no_leak():
    for version, path in interpreters().items():
        for env in ({}, {"PYTHONMALLOC": "malloc"}, {"PYTHONMALLOC": "debug"}, {"PYTHONTRACEMALLOC": "1"}):
            for mode in ("all", "sample"):
                with prof.folder() as log:
                    run = prof.launch([path, "-c", LARGE], log, env=env, python_stack="ops", malloc=mode,
                                      malloc_sample_kb=4, marker="none")
                    heap = run.only().facts["heap"]
                    live = sum(s["live"] for s in heap["sites"] if s.get("Call stack", "").startswith("<string>"))
                    # What the interpreter keeps for the next object, and new pools.
                    assert live < 100000, (version, env, mode, live, heap["sites"][:3])
                    objects = [s for s in heap["sites"] if s["call"] in SMALL]
                    # What tracemalloc has found before the window it puts back.
                    pools = env.get("PYTHONMALLOC") != "malloc" and "PYTHONTRACEMALLOC" not in env
                    assert bool(objects) == pools, (version, env, mode)


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
