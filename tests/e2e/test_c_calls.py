#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""--c-calls: the calls of C functions that PyTorch does not see: those that were made, in their places."""
import collections
import json
import os
import re
import subprocess
import sys

import prof
from test_python_walk import each

PROGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "progs")
PROGRAM = os.path.join(PROGS, "c_calls.py")
VENV = os.path.join(prof.BUILD, "venv", "bin", "python")
STEP = {"marker": "python:boundary@begin", "schedule": "wait=2,active=1,repeat=1"}


def rows(trace):
    return [e for e in trace.slices if e.get("cat") == "python_function"]


def names(trace):
    return collections.Counter(e["name"] for e in rows(trace))


def nested(trace):
    """On each row slices lie in each other, and parents are what the ids say."""
    ids = {e["args"]["Python id"]: e for e in rows(trace)}
    assert len(ids) == len(rows(trace))
    for e in ids.values():
        outer = ids.get(e["args"]["Python parent id"])
        assert outer is None or (outer["tid"] == e["tid"] and outer["ts"] <= e["ts"] and
                                 e["ts"] + e["dur"] <= outer["ts"] + outer["dur"] + .0011), (outer, e)


def spelled(counted):
    """cProfile's names as ours: a function has its module, a method its type."""
    found = collections.Counter()
    for name, n in counted.items():
        function = re.match(r"<built-in method (\S+)>$", name)
        method = re.match(r"<method '(\S+)' of '(\S+)' objects>$", name)
        found[function[1] if function else f"{method[2]}.{method[1]}"] += n
    # A method of a type itself has no type in cProfile's name; and cProfile's own end.
    found["int.from_bytes"] = found.pop("from_bytes")
    del found["_lsprof.Profiler.disable"]
    return found


def same_host(python, run):
    """The program's result, and its tables before and behind the window."""
    bare = json.loads(prof.plain([python, PROGRAM]).stdout)
    said = json.loads(run.out.splitlines()[-1])
    assert run.status == 3 and said["out"] == bare["out"], (run.status, said, bare)
    assert said["fabs"]["before"] == said["fabs"]["after"], said
    return said


def test_all_that_cprofile_counts():
    """As often each, on every interpreter; with the functions that call them, too."""
    def one(python):
        want = spelled(json.loads(prof.plain([python, PROGRAM], env={**os.environ, "COUNT": "1"}).stdout)["counted"])
        for also in {}, {"python_stack": "full"}:
            with prof.folder() as log:
                run = prof.launch([python, PROGRAM], log, check=False, c_calls="all", **STEP, **also)
                said = same_host(python, run)
                assert said["fabs"]["within"] == said["fabs"]["before"], said
                trace = run.only()
                have = {name: n for name, n in names(trace).items() if "(" not in name}
                # ctypes has asked for the table within the step.
                have = {name: n for name, n in have.items() if name not in ("builtins.id", "c_void_p.from_address")}
                assert have == want, (have, want)
                nested(trace)
                assert trace.facts["c calls"]["calls"] == trace.facts["events"]["c_calls"] > 1000
                assert not trace.facts["drops"] and trace.facts["cost"]["ns per C call"] > 0, trace.facts
                prof.strict(run.paths())
        return "%d calls" % sum(want.values())
    each(one)


def test_modules_by_their_tables():
    """Functions, and methods of types; what they have from elsewhere is not theirs."""
    def one(python):
        with prof.folder() as log:
            run = prof.launch([python, PROGRAM], log, check=False, c_calls="math,zlib,collections,json", **STEP)
            said = same_host(python, run)
            trace = run.only()
            want = {"math.fabs": 40, "zlib.crc32": 40, "math.sqrt": 40, "math.floor": 40, "collections.deque.append": 40}
            have = {n: c for n, c in names(trace).items() if n.split(".")[0] in ("math", "zlib", "collections")}
            # A static interpreter's modules may be constants, which are left as they are.
            if said["fabs"]["within"] == said["fabs"]["before"]:
                assert "C functions or more are missing" in run.err, run.err
                return "tables are constant"
            assert have == want, (have, run.err)
            nested(trace)
        return "ok"
    each(one)


def test_threads_and_a_fork():
    def one(python):
        with prof.folder() as log:
            run = prof.launch([python, PROGRAM], log, check=False, c_calls="math", env={"FORK": "1"},
                              marker="python:boundary@begin", schedule="wait=3,active=2,repeat=1")
            said = json.loads(run.out.splitlines()[-1])
            assert run.status == 3 and said["out"] == json.loads(prof.plain([python, PROGRAM]).stdout)["out"], said
            if "C functions or more are missing" in run.err:
                return "tables are constant"
            assert said["fabs"]["after"] != said["fabs"]["before"], said
            mine = [t for t in run.traces() if names(t)]
            assert len(mine) == 1, run.err
            by = collections.Counter(e["tid"] for e in rows(mine[0]) if e["name"] == "math.fabs")
            assert sum(by.values()) == 20 and len(by) >= 1, by
            nested(mine[0])
        return "ok"
    each(one)


NUMPY = """
import numpy as np
mask = np.zeros((300, 300), bool); mask[::7] = True
def boundary(): pass
slot = lambda o, at: __import__("ctypes").c_void_p.from_address(id(o) + at).value
seen = []
for step in range(6):       # windows while it is 0 and 2
    boundary()
    seen.append((slot(np.argwhere, 16), slot(np.add, 160)))
    for i in range(10):
        a = np.argwhere(mask)
        a + 1
        mask.sum()
        np.random.normal(size=3)
        np.linalg.norm(a)
        try: np.add(a, "x")
        except Exception as e: error = type(e).__name__
print(error, len(a), seen[1] == seen[3] == seen[4] == seen[5] != seen[2])
"""


def test_numpy():
    """The tutorial's example: NumPy is on the timeline, and at the top of the table."""
    with prof.folder() as log:
        run = prof.launch([VENV, "-c", NUMPY], log, marker="python:boundary@begin", schedule="wait=1,active=1,repeat=2",
                          env={"PROF_C_CALLS": "on"})
        bare = prof.plain([VENV, "-c", NUMPY]).stdout.split()
        assert run.out.split() == [*bare[:2], "True"], (run.out, bare)
        assert len(run.traces()) == 2, run.err
        for trace in run.traces():
            have = names(trace)
            for name in ("numpy.argwhere", "numpy.nonzero", "numpy.ndarray.nonzero", "numpy.linalg.norm", "numpy.ndarray.sum"):
                assert have[name] == 10, (name, have)
            assert have["numpy.add"] == 20 and have["numpy.random.mtrand.RandomState.normal"] == 10, have
            assert not [n for n in have if not n.startswith("numpy.")], have
            nested(trace)
            ids = {e["args"]["Python id"]: e for e in rows(trace)}
            inner = next(e for e in rows(trace) if e["name"] == "numpy.ndarray.nonzero")
            assert ids[inner["args"]["Python parent id"]]["name"] == "numpy.nonzero", inner
            late = trace.facts["c calls"]["late_us"]
            assert late < 1000000
        table = prof.plain([prof.LAUNCHER, "report", "--view", "python", "--format", "json", run.paths()[0]]).stdout
        top = json.loads(table)["python"][0]
        assert top["function"].startswith("numpy.") and top["whose"] == "built-in", top


def test_a_program_with_torch():
    """NumPy between operators, in a module; a module that is imported in the window, and its torch.compile."""
    program = """
import numpy as np, torch
class M(torch.nn.Module):
    def forward(self, x): return torch.relu(torch.from_numpy(np.argwhere(x.numpy() > .5)).float()).sum()
m, x = M(), torch.rand(40, 40)
for i in range(6):
    with torch.profiler.record_function("step"): m(x)
    if i == 3: import numpy.ma as ma; ma.masked_array([1, 2]).sum()
"""
    with prof.folder() as log:
        run = prof.launch([VENV, "-c", program], log, marker="torch:step", schedule="wait=2,active=3,repeat=1",
                          c_calls="numpy", modules="on")
        trace = run.only()
        have = names(trace)
        assert have["numpy.argwhere"] == have["nn.Module: M_0"] == 3, have
        ids = {e["args"]["Python id"]: e for e in rows(trace)}
        for e in rows(trace):
            if e["name"] == "numpy.argwhere":
                assert ids[e["args"]["Python parent id"]]["name"] == "nn.Module: M_0", e
        prof.strict(run.paths())


IMPORTED = """
import importlib, types
for i in range(100):
    importlib.import_module(f"empty{i}")
json = importlib.import_module("_json")
for i in range(30): json.encode_basestring_ascii("a")
print(isinstance(importlib._bootstrap._find_and_load, types.FunctionType))
"""


def test_what_python_imports_by_itself():
    """Since 3.11 a call site of importlib's that is hot looks at the importer's type or version alone."""
    def one(python):
        with prof.folder() as log, prof.folder() as here:
            for i in range(100):
                open(os.path.join(here, f"empty{i}.py"), "w", encoding="utf-8").close()
            run = prof.launch([python, "-c", IMPORTED], log, env={"PYTHONPATH": here}, c_calls="_json",
                              marker="none")
            assert run.out == "True\n", run
            if "C functions or more are missing" in run.err:
                return "tables are constant"
            assert names(run.only())["_json.encode_basestring_ascii"] == 30, (names(run.only()), run.err)
        return "ok"
    each(one)


WITH_TORCH = """
import importlib, torch
for i in range(100):
    importlib.import_module(f"empty{i}")
audioop = importlib.import_module("audioop")
for i in range(30): audioop.max(b"ab", 2)
torch.nn.ReLU()(torch.ones(2))
"""


def test_what_python_imports_by_itself_behind_torch():
    """Who looked for torch's modules no longer watches the importer then."""
    with prof.folder() as log, prof.folder() as here:
        for i in range(100):
            open(os.path.join(here, f"empty{i}.py"), "w", encoding="utf-8").close()
        run = prof.launch([VENV, "-W", "ignore", "-c", WITH_TORCH], log, env={"PYTHONPATH": here}, c_calls="audioop",
                          marker="none", modules=True)
        have = names(run.only())
        assert have["audioop.max"] == 30 and have["nn.Module: ReLU_0"] == 1, (have, run.err)


DERIVED = """
class Mine(list): pass
class Yours(dict): pass
def boundary(): pass
mine, plain = Mine(), []
for i in range(3):
    boundary()
    mine.append(i)
    Yours.fromkeys("a")
    also, other = mine.append, plain.append
    for k in range(40): also(k); other(k); dict.fromkeys("a")
"""


def test_a_method_has_the_type_that_it_is_of():
    """Not that of the first object, nor the class, that it was called of."""
    def one(python):
        with prof.folder() as log:
            have = names(prof.launch([python, "-c", DERIVED], log, c_calls="all", marker="python:boundary@begin",
                                     schedule="wait=1,active=1,repeat=1").only())
            assert have["list.append"] == 81 and have["dict.fromkeys"] == 41, have
        return "ok"
    each(one)


def test_what_is_not_there():
    """A module that is never imported, and words that are no modules."""
    with prof.folder() as log:
        run = prof.launch([VENV, "-c", "print(1)"], log, c_calls="nmpy")
        assert "no such function was imported: nmpy" in run.err, run.err
        run = prof.launch(["true"], log, c_calls="nmpy")
        assert "loaded PyTorch, CUDA or Python" in run.err, run.err
        run = prof.plain([prof.LAUNCHER, "doctor", "--c-calls", "--", VENV, "-c", "1"])
        assert "calls of C functions can be recorded" in run.stdout + run.stderr, run
        for wrong in "num-py", "numpy,", ".numpy", "1":
            run = subprocess.run([prof.LAUNCHER, "--logdir", log, f"--c-calls={wrong}", "--", "true"], text=True,
                                 capture_output=True, check=False)
            assert run.returncode == 2 and "--c-calls" in run.stderr, run
        # The word behind it is the command.
        run = subprocess.run([prof.LAUNCHER, "--logdir", log, "--c-calls", "echo", "hello"], text=True,
                             capture_output=True, check=False)
        assert run.stdout == "hello\n", run


def test_a_profiler_of_the_program():
    """cProfile in a window counts what it counts without us, and the rest of the window is there."""
    program = """
import cProfile, pstats, json
def boundary(): pass
def work():
    for i in range(100): abs(i); [1].append(i)
for i in range(4):
    boundary(); work()
    p = cProfile.Profile(); p.enable(); work(); p.disable(); work()
    print(sorted((k[2], v[1]) for k, v in pstats.Stats(p).stats.items()))
"""

    def one(python):
        bare = prof.plain([python, "-c", program]).stdout
        for also in {}, {"python_stack": "full"}:
            with prof.folder() as log:
                run = prof.launch([python, "-c", program], log, c_calls="all", marker="python:boundary@begin",
                                  schedule="wait=1,active=1,repeat=1", **also)
                assert run.out == bare, (run.out, bare)
                count = names(run.only())["builtins.abs"]
                assert count >= 100, count
                nested(run.only())
        return count
    each(one)


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
