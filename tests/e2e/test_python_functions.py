#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""--with-stack=full: each call of a function, by whom, from begin to end; those of torch.profiler
(with_stack=True), and of the interpreter's own profile function; and nothing of ours is left."""
import collections
import json
import os
import re
import signal
import subprocess
import sys

import prof
from test_python_walk import each

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "progs", "python_functions.py")
TORCH = os.path.join(HERE, "progs", "python_functions_torch.py")
VENV = os.path.join(prof.BUILD, "venv", "bin", "python")
FULL = {"python_stack": "full"}
MINE = re.compile(r"python_functions(_torch)?\.py|made\.py|<made>")


def functions(events):
    found = [e for e in events if e.get("cat") == "python_function"]
    ids = {e["args"]["Python id"]: e for e in found}
    assert len(ids) == len(found)
    return ids


def short(event):
    return event["name"].rsplit("): ", 1)[-1] if event else ""


def calls_of(trace, mine=MINE):
    """(function, what called it) -> how often; of the program's own functions."""
    ids, found = functions(trace.slices), collections.Counter()
    for e in ids.values():
        if "Call" not in e["args"] and "Called" not in e["args"] and mine.search(e["name"]):
            found[short(e) + "<" + short(ids.get(e["args"]["Python parent id"]))] += 1
    return found


def nested(trace, *also):
    """Slices of a thread lie within each other; of these categories besides."""
    rows = collections.defaultdict(list)
    for e in trace.slices:
        if e.get("cat") in ("python_function", "cpu_op", "user_annotation", *also):
            rows[e["tid"]].append(e)
    for row in rows.values():
        around = []
        for e in sorted(row, key=lambda e: (e["ts"], -e["dur"])):
            end = e["ts"] + e["dur"]
            while around and around[-1]["ts"] + around[-1]["dur"] <= e["ts"]:
                around.pop()
            assert not around or end <= around[-1]["ts"] + around[-1]["dur"] + .0005, (e, around[-1])
            around.append(e)


def counted(python):
    """As the profile function is told, the program's own functions."""
    said = json.loads(prof.plain([python, PROGRAM], env={**os.environ, "COUNT": "1"}).stdout)
    return said, said["calls"]


def test_the_calls_of_every_interpreter():
    """As often, and by the same, as its own profile function is told; the program sees nothing of it."""
    def one(python):
        want, calls = counted(python)
        with prof.folder() as log:
            run = prof.launch([python, PROGRAM], log, **FULL)
            said = json.loads(run.out.splitlines()[-1])
            assert said["out"] == want["out"], (said, want)
            trace = run.only()
            have = calls_of(trace)
            # What is not counted, as it is outside, or called by a function that counts.
            skip = re.compile("<module>|body<$|tools<|tell<|__del__")
            assert {k: n for k, n in have.items() if not skip.search(k)} == {
                k: n for k, n in calls.items() if not skip.search(k)}, (have, calls)
            nested(trace)
            facts = trace.facts["python functions"]
            assert facts["calls"] == trace.facts["events"]["functions"] > 300, facts
            assert not facts["too deep"] and not facts["threads of another tool"], facts
            assert trace.facts["cost"]["ns per function"] > 0
            assert not trace.facts["drops"], trace.facts["drops"]
            assert "Python" not in run.err, run.err
            prof.strict(run.paths())
            return "%d calls" % sum(calls.values())
    each(one)



def tree(trace_events, root):
    """(depth, name) of all that `root` calls, in order; what is built in passed over."""
    ids = functions(trace_events)
    below = collections.defaultdict(list)
    for e in sorted(ids.values(), key=lambda e: e["ts"]):
        if "Call" not in e["args"]:     # another piece of one
            below[e["args"]["Python parent id"]].append(e)
    found = []

    def walk(event, depth):
        shown = not event["name"].startswith("<built-in")
        if shown:
            found.append((depth, event["name"]))
        for inner in below[event["args"]["Python id"]]:
            walk(inner, depth + shown)
    top = [e for e in ids.values() if short(e) == root and "Call" not in e["args"]]
    assert len(top) == 1, top
    walk(top[0], 0)
    return found


def test_the_functions_of_torchs_profiler():
    """Name by name, with its modules and their numbers, in its order. One process has room for one of the two."""
    with prof.folder() as log:
        path = os.path.join(log, "torch.json")
        assert prof.plain([VENV, TORCH], env={**os.environ, "TRACE": path}).returncode == 0
        run = prof.launch([VENV, TORCH], log, marker="python:boundary", schedule="wait=1,active=1,repeat=1", **FULL)
        trace = run.only()
        with open(path, encoding="utf-8") as file:
            want = tree(json.load(file)["traceEvents"], "body")
        have = tree(trace.slices, "body")
        assert len(want) > 1000 and sum("nn.Module" in name for _, name in want) > 50, len(want)
        assert have == want, [pair for pair in zip(have, want) if pair[0] != pair[1]][:5]
        nested(trace)
        assert trace.raw["with_stack"] == trace.raw["with_modules"] == 1
        around = functions(trace.slices)
        first = next(e for e in around.values() if e["name"] == "nn.Module: Linear_0")
        assert short(around[first["args"]["Python parent id"]]) == "forward", first
        assert first["args"]["Module path"] == "0.linear", first
        prof.strict(run.paths())


def test_beside_torchs_profiler_in_one_process():
    """Since 3.12 there is room for both. TORCH_PYTHON: such an interpreter, with torch."""
    python = os.environ.get("TORCH_PYTHON")
    if not python:
        raise prof.Skip("TORCH_PYTHON is not given: a Python of 3.12 or later that has torch")
    with prof.folder() as log:
        path = os.path.join(log, "torch.json")
        run = prof.launch([python, TORCH], log, env={"TRACE": path}, marker="python:boundary",
                          schedule="wait=1,active=1,repeat=1", modules="on", **FULL)
        trace = run.only()
        with open(path, encoding="utf-8") as file:
            theirs = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
        have, want = tree(trace.slices, "body"), tree(theirs, "body")
        assert len(want) > 1000 and have == want, [pair for pair in zip(have, want) if pair[0] != pair[1]][:5]
        numbers = [collections.Counter(e["name"] + str(e["args"].get("Python module id"))
                                       for e in functions(of).values() if e["name"].startswith("nn.Module"))
                   for of in (trace.slices, theirs)]
        assert sum(numbers[1].values()) > 50 and numbers[0] == numbers[1], numbers


def test_steps_and_annotations_keep_their_length():
    """A function that a step's end cuts goes on behind it; `__enter__`, in which an annotation begins, ends there."""
    with prof.folder() as log:
        run = prof.launch([VENV, TORCH], log, schedule="wait=2,active=4,repeat=1", **FULL)
        trace = run.only()
        nested(trace)
        steps = [e for e in trace.slices if e["name"].startswith("ProfilerStep#")]
        assert len(steps) == 4 and [a["ts"] + a["dur"] - b["ts"] < 1 for a, b in zip(steps, steps[1:])], steps
        passes = trace.named("forward pass")
        assert len(passes) == 4, passes
        ids = functions(trace.slices)
        for e in passes:        # the modules within lie in the annotation
            inside = [m for m in ids.values() if m["name"] == "nn.Module: Sequential_0"
                      and e["ts"] <= m["ts"] and m["ts"] + m["dur"] <= e["ts"] + e["dur"] + .001]
            assert len(inside) == 1, (e, inside)
        begin, end = trace.window()
        entered = [e for e in ids.values() if "Called" in e["args"]]
        names = [short(e) for e in entered]
        assert names[:2] == ["<module>", "body"] and "epoch" in names, names
        # As soon as the interpreter was asked, which a busy machine may put off.
        late = trace.facts["python functions"]["late_us"]
        assert late < 1000000 and all(-1 < e["ts"] - begin < 1 + late for e in entered[:2]), (entered, begin, late)
        # An epoch is one call, however many pieces: those of an epoch are as long as its steps.
        pieces = [e for e in ids.values() if short(e) == "epoch"]
        calls = [e for e in pieces if "Call" not in e["args"]]
        assert len(calls) == 2 and len(pieces) > 2, pieces
        assert sum(e["dur"] for e in pieces) > .9 * (end - begin - late), (pieces, begin, end)


def test_windows_that_follow_each_other():
    """Nobody asks the interpreter again, and calls are there from the begin on."""
    with prof.folder() as log:
        run = prof.launch([VENV, TORCH], log, schedule="active=3,repeat=3,wait=0,warmup=0", **FULL)
        traces = run.traces()
        assert len(traces) == 3 and "without calls" not in run.err, run.err
        for trace in traces[1:]:
            assert trace.facts["python functions"]["late_us"] < 100000, trace.facts["python functions"]
            assert trace.facts["python functions"]["calls"] > 200
            nested(trace)


def test_nothing_is_left():
    """Neither a profile function nor a tool; a profiler of the program's own goes on as it was."""
    program = """
import cProfile, json, pstats, sys
mon = getattr(sys, "monitoring", None)
def tools(): return [repr(sys.getprofile()), mon and [mon.get_tool(i) for i in range(6)]]
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def boundary(): pass
seen = [tools()]
for i in range(6):      # windows while i is 0, 2, 4
    boundary(); fib(5)
    if i == 2: within = tools()
    if i in (1, 3): seen.append(tools())
    if i == 3: profiler = cProfile.Profile(); profiler.enable()
profiler.disable()
seen.append(tools())
stats = {k[2]: v[1] for k, v in pstats.Stats(profiler).stats.items()}
print(json.dumps([seen, within, stats["fib"]]))
"""

    def one(python):
        bare = json.loads(prof.plain([python, "-c", program]).stdout)
        with prof.folder() as log:
            run = prof.launch([python, "-c", program], log, marker="python:boundary",
                              schedule="wait=1,active=1,repeat=3", **FULL)
            seen, within, calls = json.loads(run.out.splitlines()[-1])
            assert seen == bare[0] and calls == bare[2] == 30, (seen, bare)
            assert bool(within[1]) == ("proflaunch" in str(within)), within
            fibs = [sum(short(e) == "fib" for e in functions(t.slices).values()) for t in run.traces()]
            # Up to 3.11 a thread has one profile function, and in the last window that is cProfile's.
            assert fibs == ([15, 15, 15] if within[1] else [15, 15]), fibs
            assert ("another tool is told" in run.err) == (not within[1]), run.err
            return "%d windows" % len(fibs)
    each(one)


def test_ends_of_all_kinds():
    """Killed in a window, by _exit, in a fork's child, deeper than there is room for: what is known is there."""
    def one(python):
        with prof.folder() as log:
            run = prof.launch([python, PROGRAM], log, env={"DEPTH": "6000"}, **FULL)
            trace = run.only()
            deep = [e for e in functions(trace.slices).values() if short(e) == "deep"]
            lost = trace.facts["python functions"]["too deep"]
            assert lost > 1000 and len(deep) + lost == 6001 + 31, (len(deep), lost)
            nested(trace)
        for how in "os._exit(3)", "os.kill(os.getpid(), 9)", "os.fork() or os._exit(0); os.wait()":
            code = "import os\ndef f(): pass\ndef g():\n  for i in range(1000): f()\n  %s\ng()" % how
            with prof.folder() as log:
                run = prof.launch([python, "-c", code], log, check=False, **FULL)
                calls = [e for t in run.traces() for e in functions(t.slices).values() if e["name"] == "<string>(2): f"]
                assert len(calls) == 1000, (how, len(calls), run.err)
                opened = [e for t in run.traces() for e in functions(t.slices).values() if short(e) == "g"]
                assert len(opened) >= 1, how
        return "ok"
    each(one)


def test_programs_without_python():
    with prof.folder() as log:
        run = prof.launch(["/bin/sh", "-c", "/bin/true; echo done"], log, **FULL)
        assert run.out == "done\n" and not run.paths(), run.err


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
