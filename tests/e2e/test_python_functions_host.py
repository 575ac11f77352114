#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""--with-stack=full: what the program itself must not notice."""
import sys

import prof
from test_python_walk import each

FULL = {"python_stack": "full", "marker": "python:boundary", "schedule": "wait=1,active=1"}
F = "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\ndef boundary(): pass\n"

PROFILE = F + """
import profile
for i in range(4):
    boundary()
    p = profile.Profile()
    p.runcall(f, 6)
    p.create_stats()
    print(sum(v[1] for k, v in p.stats.items() if k[2] == "f"))
"""
REFUSES = F + """
import sys, threading
def hook(event, args):
    if event in ("sys.setprofile", "sys.monitoring.register_callback"):
        raise RuntimeError(event)
boundary(); f(8)
sys.addaudithook(hook)
for i in range(4): boundary(); f(8)
t = threading.Thread(target=f, args=(8,)); t.start(); t.join()
boundary(); f(3)
print("done")
"""
SLEEPS = F + """
import sys, threading, time
def hook(event, args):
    if event == "sys.setprofile": time.sleep(.002)
sys.addaudithook(hook)
stop = False
def spawn():
    while not stop:
        ts = [threading.Thread(target=f, args=(6,)) for _ in range(8)]
        for t in ts: t.start()
        for t in ts: t.join()
ss = [threading.Thread(target=spawn) for _ in range(3)]
for s in ss: s.start()
for i in range(100): boundary(); f(8)
stop = True
for s in ss: s.join()
print("done")
"""
INNER = F + """
try: import _xxsubinterpreters as si
except ImportError: import _interpreters as si
i = si.create(); si.run_string(i, "import atexit, _heapq, _struct"); si.destroy(i)
for i in range(1000): f(5)
"""


MADE_UP = F + """
import sys, types
class Any:
    def __getattr__(self, name): return "no number"
if hasattr(sys, "monitoring"): sys.monitoring = types.SimpleNamespace(events=Any(), get_tool=lambda i: None)
for i in range(4): boundary(); print(f(6))
"""


def same(code):
    def one(python):
        bare = prof.plain([python, "-c", code])
        with prof.folder() as log:
            run = prof.launch([python, "-c", code], log, check=False, timeout=40, **FULL)
            assert run.out == bare.stdout, (run.out, run.err[-500:])
            assert "Exception ignored" not in run.err, run.err[:500]
        return "ok"
    each(one)


def test_a_profiler_of_python():
    same(PROFILE)


def test_an_audit_hook_that_refuses():
    same(REFUSES)


def test_an_audit_hook_that_lets_the_lock_go():
    same(SLEEPS)


def test_a_monitoring_that_is_none():
    same(MADE_UP)


def test_after_a_subinterpreter():
    def one(python):
        with prof.folder() as log:
            run = prof.launch([python, "-c", INNER], log, python_stack="full", marker="none")
            calls = sum(e["name"].endswith(": f") for e in run.only().slices)
            assert calls == 15000, calls
        return "ok"
    each(one)


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
