#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""--python-events: garbage collections, waits for the lock and imports are rows; and nothing of ours is left."""
import json
import os
import sys

import prof
from test_python_functions import nested
from test_python_walk import each

ALL = {"python_events": "all"}
STEPS = {"marker": "python:boundary", "schedule": "wait=1,active=1", **ALL}
ENDS = "def boundary(): pass\n"


def named(trace, name):
    return [e for e in trace.slices if e["name"] == name]


def imports(trace, raised=False):
    return [e["name"][len("import "):] for e in trace.slices
            if e.get("cat") == "python_import" and bool(e["args"].get("raised")) == raised]


def found(trace):
    return [[e["args"][key] for key in ("generation", "collected", "uncollectable")] for e in named(trace, "Python GC")]


# What the interpreter itself tells a callback of the program's, in each window.
COLLECTS = ENDS + """
import gc, json
class Node: pass
told, stats = [], lambda: [s["collections"] for s in gc.get_stats()]
def tell(phase, info):
    if phase == "stop": told[-1].append([info["generation"], info["collected"], info["uncollectable"]])
gc.callbacks.append(tell)
grown = []
for i in range(8):
    told.append([])
    boundary(); before = stats()
    for _ in range(4000):
        node = Node(); node.own = node
    for g in 0, 1, 2: gc.collect(g)
    grown.append(sum(stats()) - sum(before))
    gc.disable(); told.append([])
    boundary(); gc.enable()
print(json.dumps([told, grown]))
"""


def test_collections_are_the_interpreters_own():
    def one(python):
        with prof.folder() as log:
            run = prof.launch([python, "-c", COLLECTS], log, **STEPS, python_stack="full")
            told, grown = json.loads(run.out)
            traces = run.traces()
            assert len(traces) == 8, run.err
            rows = [found(t) for t in traces]
            assert rows == told[::2], (rows, told)
            assert [len(r) for r in rows] == grown, (rows, grown)
            for trace in traces:
                nested(trace)
                assert all(e["cat"] == "python_function" for e in named(trace, "Python GC"))
                facts = trace.facts["python events"]
                assert facts["collections"] == len(found(trace)) and facts["late_us"] is not None, facts
                assert not trace.facts["drops"], trace.facts["drops"]
            prof.strict(run.paths())
            # Windows without a gap between them: in what follows another one nothing is there twice.
            run = prof.launch([python, "-c", COLLECTS], log + "/next", **{**STEPS, "schedule": "wait=0,active=1"})
            rows = [found(t) for t in run.traces()]
            told = json.loads(run.out)[0]
            # The first is the process's start.
            assert [r for r in rows if r][1:9] == told[::2] and not any(told[1::2]), (rows, told)
            return "%d collections" % sum(grown)
    each(one)


def test_a_program_that_never_imports_gc():
    """Has none afterwards, and its collections are there even so."""
    code = ("import sys\nclass A: pass\nfor i in range(30000):\n    a = A(); a.a = a\n"
            "print(['gc' in sys.modules, len(sys.modules), sys.getrefcount(sys.modules)])\n")

    def one(python):
        bare = prof.plain([python, "-c", code]).stdout
        with prof.folder() as log:
            run = prof.launch([python, "-c", code], log, python_events="gc")
            rows = found(run.only())
            assert run.out == bare and bare.startswith("[False"), (run.out, bare)
            assert len(rows) > 10 and sum(r[1] for r in rows) > 20000, rows
            assert not imports(run.only()) and set(run.only().facts["python events"]) == {"late_us", "collections"}
            return "%d collections" % len(rows)
    each(one)


IMPORTS = ENDS + """
import sys, json
def missing():
    try: import nothing_of_that_name
    except ImportError: pass
seen = []
for i in range(4):
    boundary(); before = set(sys.modules)
    if i == 0: import colorsys, wave
    if i == 1:
        missing(); missing()
        from xml.dom import minidom
        import importlib
        importlib.import_module("xml.dom.minidom"); importlib.import_module("wave"); __import__("wave")
    if i == 2: import colorsys
    if i == 3: from concurrent import futures; futures.ThreadPoolExecutor
    seen.append(sorted(set(sys.modules) - before))
    boundary()
print(json.dumps(seen))
"""


# What nobody imports: modules put these there.
PUT = {"pyexpat.errors", "pyexpat.model", "importlib._bootstrap", "importlib._bootstrap_external"}


def test_imports_are_what_comes_into_sys_modules():
    def one(python):
        with prof.folder() as log:
            run = prof.launch([python, "-c", IMPORTS], log, **STEPS, python_stack="full")
            seen, traces = json.loads(run.out), run.traces()
            assert len(traces) == 4, run.err
            for modules, trace in zip(seen, traces):
                have = imports(trace)
                assert len(have) == len(set(have)), have
                assert set(modules) - set(have) <= PUT, (modules, have)
                assert set(have) <= set(modules), (modules, have)
                assert trace.facts["python events"]["imports"] == len(have) + len(imports(trace, raised=True))
                nested(trace, "python_import")
            assert imports(traces[1], raised=True).count("nothing_of_that_name") == 2
            inner = {e["name"]: e for e in traces[1].slices if e.get("cat") == "python_import"}
            package, outer = inner["import xml"], inner["import xml.dom"]
            assert outer["ts"] <= package["ts"] and package["ts"] + package["dur"] <= outer["ts"] + outer["dur"]
            prof.strict(run.paths())
            return "%d imports" % sum(map(len, seen))
    each(one)


# Ten times the main thread is woken by one that keeps the lock, in C, for some 40 ms; before that, waits of other kinds.
WAITS = ENDS + """
import json, queue, threading, time
def others():
    q = queue.Queue()
    for _ in range(5):
        try: q.get(timeout=.002)
        except queue.Empty: pass
    threading.Lock().acquire(timeout=.001); threading.Event().wait(.002)
    c = threading.Condition()
    with c: c.wait(.002)
def keeps():
    for _ in range(10):
        go.acquire(); begin = time.perf_counter()
        woken.release(); sum(range(2500000))
        took.append((time.perf_counter() - begin) * 1e6)
        done.release()
go, woken, done, took = [threading.Semaphore(0) for _ in range(3)] + [[]]
boundary(); others(); boundary()
thread = threading.Thread(target=keeps); thread.start()
boundary()
for _ in range(10):
    go.release(); woken.acquire(); done.acquire()
boundary(); thread.join()
print(json.dumps([took, threading.get_native_id()]))
"""


def test_waits_for_the_lock():
    def one(python):
        with prof.folder() as log:
            run = prof.launch([python, "-c", WAITS], log, **STEPS)
            took, main = json.loads(run.out)
            trace = run.only()      # the first window has none, and nothing else: no file
            rows = [e for e in named(trace, "GIL wait") if e["tid"] == main]
            # One row for each, however many rounds it took; a busy machine may wake a thread late.
            long = [e for e in rows if e["dur"] > min(took) / 2]
            assert 7 <= len(long) <= 10 and len(rows) <= 30, (took, [e["dur"] for e in rows])
            assert sum(e["dur"] for e in long) <= sum(took) + 5000 * len(took), (took, long)
            assert all(e["dur"] > 49 for e in named(trace, "GIL wait")), rows
            assert trace.facts["python events"]["waits for the lock"] == len(named(trace, "GIL wait"))
            nested(trace, "python_gil")
            return "%d waits" % len(rows)
    each(one)


# The list, the importer's pointer to what executes it, and its type: in and behind windows.
LEFT = ENDS + """
import ctypes, gc, importlib._bootstrap as b, json, sys, types
at = ctypes.c_size_t.from_address(id(types.FunctionType) + 56).value
def word(where): return ctypes.c_size_t.from_address(where).value
def state():
    f = sys.modules["_frozen_importlib"]._find_and_load
    return [[repr(c) for c in gc.callbacks], word(id(f) + at), word(id(f) + 8)]
first, seen = state(), []
for i in range(8):
    boundary(); len([]); s = state()
    seen.append([len(s[0]), s[0] == first[0], s[1:] == first[1:], s[2] == id(types.FunctionType)])
print(json.dumps(seen))
"""


def test_nothing_is_left():
    def one(python):
        with prof.folder() as log:
            run = prof.launch([python, "-c", LEFT], log, **STEPS)
            seen = [s[:3] for s in json.loads(run.out)]
            assert seen == [[1, False, False], [0, True, True]] * 4, seen
            # A marker python: has the importer of another type in 3.11, to the end; without one we alone do. There
            # a window is open from the process's start to the first step.
            stepping = LEFT.replace(ENDS, "import ctypes\nboundary = ctypes.CDLL(None).proflaunch_step\n")
            run = prof.launch([python, "-c", stepping], log, schedule="wait=1,active=1", **ALL)
            seen = json.loads(run.out)
            assert [s[:3] for s in seen] == [[1, True, True], [0, False, False]] * 4, (seen, run.err)
            assert all(s[3] for s in seen[1::2]), seen
            run = prof.launch([python, "-c", LEFT], log, **{**STEPS, "python_events": "gil"})
            assert [s[:3] for s in json.loads(run.out)] == [[0, True, True]] * 8, run.out
            return "8 windows"
    each(one)


def test_ends_of_all_kinds():
    """A program that ends in a window, however it does; all that it did is there."""
    def one(python):
        for how in "pass", "os._exit(3)", "os.kill(os.getpid(), 9)", "sys.exit(4)", "1 / 0":
            code = "import gc, os, sys\nfor i in range(200): gc.collect(0)\nimport colorsys\n" + how
            with prof.folder() as log:
                run = prof.launch([python, "-c", code], log, check=False, **ALL)
                traces = run.traces()
                assert sum(len(found(t)) for t in traces) >= 200, (how, run.err)
                assert any("colorsys" in imports(t) for t in traces), how
        return "ok"
    each(one)


TORCH = """
import gc, threading, time, torch
stop = []
def spin():
    while not stop: pass
model, x = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()), torch.ones(2, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=.1)
t = threading.Thread(target=spin); t.start()
for i in range(8):
    with torch.profiler.record_function("forward"):
        y = model(x); gc.collect(1)
    y.sum().backward(); optimizer.step(); optimizer.zero_grad()
    if i > 2: __import__(["colorsys", "wave", "this", "chunk", "sndhdr"][i - 3])
    gc.collect(0); time.sleep(.001)
stop.append(1); t.join()
"""
PLUGIN = """
import json, sys
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.module_op import aggegate_module_view
with open(sys.argv[1], encoding="utf-8") as file:
    data = RunProfileData.from_json("worker", "1", json.load(file))
print(len(data.steps_names), [s.name for s in aggegate_module_view(data.tid2tree, data.events) or []])
"""


def test_beside_operators_functions_and_in_the_plugin():
    python = os.path.join(prof.BUILD, "venv", "bin", "python")
    for stack in "off", "full":
        with prof.folder() as log:
            run = prof.launch([python, "-W", "ignore", "-c", TORCH], log, schedule="wait=2,active=4,repeat=1",
                              python_stack=stack, **ALL)
            trace = run.only()
            nested(trace, "python_import", "python_gil")
            assert len([r for r in found(trace) if r[0] == 1]) >= 4, found(trace)
            assert named(trace, "GIL wait") and imports(trace), trace.facts
            assert trace.facts["python events"]["late_us"] is not None
            prof.strict(run.paths())
            said = prof.plain([python, "-c", PLUGIN, run.paths()[0]])
            want = "4 ['Sequential_0']" if stack == "full" else "4 []"
            assert said.returncode == 0 and said.stdout.strip() == want, (said.stdout, said.stderr[-800:])


def test_what_an_interpreter_lacks():
    """A program without Python has no line of it."""
    with prof.folder() as log:
        run = prof.launch(["/bin/sh", "-c", "/bin/true; echo done"], log, **ALL)
        assert run.out == "done\n" and not run.paths() and "Python" not in run.err.replace("or Python", ""), run.err


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
