#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""A Python function ends steps: --marker python:NAME, in every version that is here."""
import concurrent.futures
import os
import sys

import prof
from test_python_walk import versions

PROGRAMS = os.path.join(prof.HERE, "..", "python")
VENV = os.path.join(prof.BUILD, "venv", "bin", "python")
N = 5
WHOLE = {"malloc": "all", "schedule": "wait=0,warmup=0,active=100000"}
SPARE = ("no such function", "never called", "no module", "no function of Python's", "generator")

# The name, and how marker.py calls it.
WAYS = (
    ("step", "script"), ("__main__.step", "script"), ("marker.step", "script"), ("step@begin", "script"),
    ("Trainer.method", "method"), ("marker.Trainer.method", "method"), ("Trainer.static", "static"),
    ("Trainer.of_class", "of_class"), ("Trainer.__call__", "called"), ("Trainer.__getitem__", "item"),
    ("Trainer.value", "value"), ("raises", "raised"), ("recurses", "recursion"), ("step", "threads"), ("step", "worker"), ("step", "late"),
    ("marker_module.step", "imported"), ("marker_module.step", "taken"),
    ("marker_module.Derived.inherited", "inherited"), ("marker_module.decorated", "decorated"),
    ("marker_package.inner.step", "from_package"), ("marker_module.step", "redefined"), ("marker_module.step", "reloaded"),
)


def known():
    found = {key: path for key, path in versions().items() if key[0] == 3 and 8 <= key[1] <= 14}
    if not found:
        raise prof.Skip("no such interpreter is here")
    return found


def each(function):
    here = known()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for key, said in zip(here, pool.map(function, here.values())):
            print("  Python", ".".join(map(str, key[:3])) + ":", said or "ok", flush=True)


def launch(path, name, way, *args, **given):
    """The steps that should have ended, and the run."""
    with prof.folder() as log:
        run = prof.launch([path, os.path.join(PROGRAMS, "marker.py"), way, str(N), *args], log,
                          env={"PYTHONDONTWRITEBYTECODE": "1"}, marker="python:" + name, **{**WHOLE, **given})
        return int(run.out), [trace.steps() for trace in run.traces()], run


def check(path, name, way, *args):
    ended, traces, run = launch(path, name, way, *args)
    # What goes on when the last step has ended is one more.
    assert traces == [list(range(ended + 1))], (path, name, way, ended, traces, run.err)
    assert ended >= N and not any(text in run.err for text in SPARE), run.err


def test_each_way_to_call_it():
    def every(path):
        for name, way in WAYS:
            check(path, name, way)
        return f"{len(WAYS)} ways"
    each(every)


def test_the_very_first_call_counts():
    """Nothing was called between its definition and that."""
    program = "def step(n):\n if n:\n  step(n - 1)\n  bytes(1 << 20)\nstep(0)\nstep(3)\n"

    def every(path):
        with prof.folder() as log:
            run = prof.launch([path, "-c", program], log, marker="python:step", **WHOLE)
            assert run.only().steps() == [0, 1, 2], (path, run.err)
    each(every)


def test_what_one_decorator_makes_is_told_apart():
    """All of it has the same code."""
    program = ("def wrap(f):\n def inner():\n  return f()\n return inner\n@wrap\ndef other():\n pass\n"
               "@wrap\ndef step():\n bytes(1 << 20)\nother()\nstep()\nstep()\n")

    def every(path):
        with prof.folder() as log:
            run = prof.launch([path, "-c", program], log, marker="python:step", **WHOLE)
            assert run.only().steps() == [0, 1, 2], (path, run.err)
    each(every)


def test_the_program_sees_nothing():
    def every(path):
        check(path, "step", "script", "see")
        check(path, "Trainer.method", "method", "see")
        check(path, "Trainer.static", "static", "see")
        check(path, "Trainer.of_class", "of_class", "see")
        check(path, "marker_module.step", "imported", "see")
    each(every)


def test_a_child_has_steps_of_its_own():
    def every(path):
        ended, traces, run = launch(path, "step", "forked")
        assert sorted(map(len, traces)) == [ended + 1] * 2, (traces, run.err)
    each(every)


def test_who_starts_others_misses_nothing():
    """As torchrun does: the function is its ranks'."""
    def every(path):
        program = ("import subprocess, sys\nsubprocess.run([sys.executable, *sys.argv[1:]], check=True)\n"
                   "def stpe(): pass\n")
        with prof.folder() as log:
            run = prof.launch([path, "-c", program, os.path.join(PROGRAMS, "marker.py"), "script", str(N)], log,
                              env={"PYTHONDONTWRITEBYTECODE": "1"}, marker="python:step", **WHOLE)
            assert not any(text in run.err for text in SPARE), run.err
            assert [trace.steps() for trace in run.traces()] == [list(range(N + 1))], run.err
    each(every)


def refused(path, name, way, text):
    _, _, run = launch(path, name, way, malloc="off")
    assert f"marker python:{name}: {text}" in run.err, (path, name, text, run.err)


def test_what_is_not_found_is_said():
    def every(path):
        refused(path, "stpe", "script", "the script has no such function (when it was last looked for)")
        refused(path, "marker_modul.step", "imported",
                "no module marker_modul was imported, and the script has no such name")
        refused(path, "marker_module.steq", "imported", "the module has no such function")
        refused(path, "Trainer.metod", "script", "the script has no such function")
        refused(path, "raises", "script", "the function was never called")
        refused(path, "CALLS", "script", "that is no function of Python's, but of type list")
        refused(path, "Trainer", "script", "that is no function of Python's, but of type type")
        for name in ("Trainer.generates", "Trainer.waits"):
            refused(path, name, "no_call", "a call of it only makes a generator or a coroutine")
    each(every)


def test_a_call_that_never_returns_ends_none():
    program = ("import threading\ngo = threading.Event()\ndef step():\n go.set()\n threading.Event().wait()\n"
               "threading.Thread(target=step, daemon=True).start()\ngo.wait()\nx = [bytes(5000) for _ in range(3000)]\n")

    def every(path):
        with prof.folder() as log:
            run = prof.launch([path, "-c", program], log, marker="python:step", malloc="all")
            assert "python:step was called, but ended no step: " in run.err, (path, run.err)
            assert run.only().steps() == [0] and "never matched" not in run.err, (path, run.err)
    each(every)


def test_the_interpreter_ends_while_it_is_looked_for():
    def every(path):
        refused(path, "CALLS", "late", "that is no function of Python's")
        refused(path, "marker_module.steq", "late", "no module marker_module was imported")
        for name in ("holds", "holds@begin", "nope"):
            _, _, run = launch(path, name, "daemon")
            assert not run.status, run.err
    each(every)


def test_other_allocators():
    """Then the first module of C's brings us there."""
    def every(path):
        for variable in ("PYTHONMALLOC=debug", "PYTHONMALLOC=malloc", "PYTHONDEVMODE=1", "PYTHONTRACEMALLOC=1"):
            with prof.folder() as log:
                run = prof.launch([path, "-c", "import _json\ndef step(): bytes(1 << 20)\nfor _ in range(5): step()\n"],
                                  log, marker="python:step", env=dict([variable.split("=")]), **WHOLE)
                assert run.only().steps() == list(range(6)), (path, variable, run.err)
    each(every)


TRAIN = """
import torch
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=.1)


def step(i):
    optimizer.zero_grad()
    net(torch.ones(2, 4) * i).sum().backward()
    optimizer.step()


for i in range(6):
    step(i)
"""


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def test_steps_of_torch():
    """Of the script by its name, and of torch's own classes; each step has its operators."""
    for name, linear in (("train.step", 6), ("torch.optim.SGD.step", 6), ("torch.nn.Linear.forward", 6)):
        with prof.folder() as log:
            script = write(log, "train.py", TRAIN)
            trace = prof.launch([VENV, script], log, marker="python:" + name, python_stack="ops",
                                schedule="wait=0,warmup=0,active=100").only()
            assert trace.steps() == list(range(linear + 1)), (name, trace.steps())
            ends = [e["ts"] + e["dur"] for e in trace.slices if e["name"].startswith("ProfilerStep#")]
            begins = [e["ts"] for e in trace.named("aten::linear")]
            for i, end in enumerate(ends[:linear]):
                assert sum(begin < end for begin in begins) == i + 1, (name, ends, begins)


COMPILED = """
import torch
import torch._dynamo.testing


class Net(torch.nn.Module):
    def inner(self, x):
        return x.relu() + 1

    def forward(self, x):
        return self.inner(x) * 2


net = Net()
net(torch.ones(2))
counter = torch._dynamo.testing.CompileCounterWithBackend("eager")
compiled = torch.compile(net, backend=counter, fullgraph=True)
print([compiled(torch.ones(2 + i)).sum().item() for i in range(3)], counter.frame_count, counter.op_count)
print(torch.jit.script(net)(torch.ones(2)), torch.fx.symbolic_trace(net).code)
"""


def test_the_compiler_makes_the_same():
    """As many graphs of as many operators, though a function in it is watched."""
    with prof.folder() as log:
        script = write(log, "compiled.py", COMPILED)
        bare = prof.plain([VENV, script])
        assert not bare.returncode, bare.stderr
        run = prof.launch([VENV, script], log, marker="python:Net.inner",
                          schedule="wait=0,warmup=0,active=100")
        assert run.out == bare.stdout, (run.out, bare.stdout)
        assert len(run.only().steps()) > 1, run.err


def test_what_was_meant_is_said():
    """Where the module atexit was imported, as torch does."""
    def every(path):
        refused(path, "marker.stpe", "at_exit", "the script has no such function (did you mean step?)\n")
        refused(path, "Trainer.metod", "at_exit", "the script has no such function (did you mean method?)")
    each(every)


DEEP = """
import os, sys, threading
def step(n, then=None):
    bytes(1 << 20) if not n else step(n - 1, then)
    if not n and then:
        then()
def hold():
    begun.set()
    go.wait()
    forked.wait()
begun, go, forked = (threading.Event() for _ in range(3))
step(0)
"""
# The deepest that each can: up to 3.10 a call of Python's takes from C's stack by itself.
NESTED = DEEP + """
step(950)
sys.setrecursionlimit(1000000)
step(30000 if sys.version_info >= (3, 11) else 3000)
other = threading.Thread(target=step, args=(0,))
step(500, lambda: (other.start(), other.join()))
try:
    step(500, lambda: 1 / 0)
except ZeroDivisionError:
    step(1)
step(99)
step(100)
"""


def run_text(path, program, name):
    with prof.folder() as log:
        run = prof.launch([path, "-c", program], log, marker="python:" + name, **WHOLE)
        return [trace.steps() for trace in run.traces()], run.err


def test_calls_within_calls_go_as_deep_as_bare():
    def every(path):
        assert not prof.plain([path, "-c", NESTED]).returncode
        traces, err = run_text(path, NESTED, "step")
        assert traces == [list(range(9))] and "another thread" not in err, (path, traces, err)
    each(every)


# A call that nobody sees, of the thread that has the steps, ends none; a fork's child has no such other thread.
BESIDE = DEEP + """
other = threading.Thread(target=step, args=(500, hold))
other.start()
begun.wait()
step(0)
child = os.fork()
if not child:
    for _ in range(3):
        step(0)
    os._exit(0)
os.waitpid(child, 0)
forked.set()
go.set()
other.join()
for _ in range(5):
    step(150)
"""


def test_another_thread_that_goes_deep_is_told():
    def every(path):
        traces, err = run_text(path, BESIDE, "step")
        assert sorted(map(len, traces)) == [4, 7], (path, traces, err)
        assert err.count("another thread than the steps' calls it") == 1, (path, err)
    each(every)


def test_it_is_looked_for_when_nested_calls_have_ended():
    program = ("import sys\nsys.setrecursionlimit(100000)\ndef deep(n):\n if n: deep(n - 1)\ndeep(450)\n"
               "def step(): bytes(1 << 20)\nfor _ in range(5): step()\n")

    def every(path):
        for text in (program, f"exec({program!r})"):
            traces, err = run_text(path, text, "step")
            assert traces == [list(range(6))], (path, traces, err)
    each(every)


def test_what_is_refused_is_said_once():
    program = "def step(): yield\n" + "".join(f"def f{i}(): pass\nf{i}()\n" for i in range(5))

    def every(path):
        _, err = run_text(path, program, "step")
        assert err.count("marker python:step: a call of it only makes a generator") == 1, (path, err)
    each(every)


def test_the_place_where_a_name_is_missing():
    def every(path):
        for program, text in (("import json", "the module has"), ("from json import dumps", "the module has"),
                              ("class json: pass", "the script has")):
            program += "\ndef f(): pass\nf()\n"
            _, err = run_text(path, program, "json.dumsp")
            assert f"marker python:json.dumsp: {text} no such function" in err, (path, program, err)
    each(every)


def test_the_command_line_refuses_what_is_no_name():
    for name, why in (("", "a name is missing after the colon"), ("x@middle", "neither @begin nor @end"),
                      ("x.", "a name is missing beside a dot"), ("x()", "'(' cannot be in a name of Python's"),
                      ("1x", "'1' cannot begin a name of Python's")):
        with prof.folder() as log:
            run = prof.launch(["true"], log, check=False, marker="python:" + name)
            assert run.status == 2 and why in run.err, run.err


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
