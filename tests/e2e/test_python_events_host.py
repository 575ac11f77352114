#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""--python-events: what the program itself must not notice."""
import sys

import prof
from test_python_events import ENDS, STEPS, found
from test_python_walk import each

# What a program does with its list, and with our function; and what it may notice.
ODD = ENDS + """
import gc, sys
def own(phase, info): count.append(phase)
def bad(phase, info): raise ValueError(phase)
count = []
sys.unraisablehook = lambda u: count.append(type(u.exc_value).__name__)
for i in range(12):
    boundary(); len([])
    if i == 0: gc.callbacks.clear()
    if i == 2: gc.callbacks.insert(0, bad); gc.collect(0); gc.callbacks.remove(bad)
    if i == 4: gc.callbacks.append(own)
    if i == 6: kept = gc.callbacks; gc.callbacks = []
    if i == 7: gc.callbacks = kept
    if i == 8: saved = list(gc.callbacks); gc.callbacks[:] = [own]
    if i == 9: gc.callbacks[:] = saved; gc.collect(0); len([]); gc.collect(0); count.append(len(gc.callbacks))
    if i == 10:
        for f in gc.callbacks:
            if f is not own:
                for args in (), ("start",), (1, 2), ("start", {}), ("stop", {"collected": -1}), ("start", {}), ("stop", {"collected": 1 << 80}), ("stop",), ("stop", None):
                    assert f(*args) is None
        f, none = None, sys.getrefcount(None)
        for _ in range(3000): gc.collect(0)
        none -= sys.getrefcount(None)
    gc.collect(0); gc.collect(1)
gc.callbacks.clear(); del gc.callbacks
gc.collect()
print(count.count("ValueError"), count.count("stop"), [c for c in count if type(c) is int],
      abs(none) < 50)
"""


def test_what_programs_do_with_their_callbacks():
    def one(python):
        bare = prof.plain([python, "-c", ODD])
        assert bare.returncode == 0, bare.stderr
        with prof.folder() as log:
            run = prof.launch([python, "-c", ODD], log, **STEPS)
            assert run.out == bare.stdout, (run.out, bare.stdout)
            assert "Traceback" not in run.err and "Error" not in run.err, run.err
            # In the first and the fifth we are not in the list any more; in the last the program calls us itself.
            rows = [len(found(t)) for t in run.traces()]
            assert rows == [3, 2, 2, 3004], rows
            return rows
    each(one)


AUDITED = ENDS + """
import sys, gc
events = []
sys.addaudithook(lambda event, args: events.append(event))
for i in range(4): boundary(); gc.collect(0)
import colorsys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None): events.append(name)
sys.meta_path.insert(0, Finder)
boundary(); import this
print(sorted(events))
"""
INNER = ENDS + """
import gc
try: import _xxsubinterpreters as si
except ImportError: import _interpreters as si
for i in range(4):
    boundary()
    j = si.create()     # up to 3.9 all of them have one list
    si.run_string(j, "import gc, sys, colorsys\\nfor i in range(9): gc.collect()\\nprint(sys.version_info < (3, 10) or gc.callbacks)")
    si.destroy(j)
    gc.collect()
"""
STOPS = ENDS + """
import gc, sys, threading, time
def daemon():
    while True: gc.collect(0); import colorsys; del sys.modules["colorsys"]
for _ in range(3): threading.Thread(target=daemon, daemon=True).start()
boundary(); time.sleep(.05)
print("done")
"""
FORKS = ENDS + """
import gc, os, sys, threading, time
stop = []
def spin():
    while not stop: pass
t = threading.Thread(target=spin); t.start()
boundary()
for i in range(10):
    pid = os.fork()
    if not pid:
        gc.collect(); gc.collect(); import colorsys
        print(len(gc.callbacks), flush=True)
        os._exit(0)
    os.waitpid(pid, 0); gc.collect(0)
stop.append(1); t.join()
print("done")
"""


def same(code, **options):
    def one(python):
        bare = prof.plain([python, "-W", "ignore", "-c", code])
        with prof.folder() as log:
            run = prof.launch([python, "-W", "ignore", "-c", code], log, check=False, timeout=60, **{**STEPS, **options})
            assert run.status == bare.returncode and run.out == bare.stdout, (run.out, bare.stdout, run.err[-500:])
            assert "Exception ignored" not in run.err, run.err[:500]
        return "ok"
    each(one)


def test_audit_hooks_and_finders_of_the_program_see_nothing():
    same(AUDITED)


def test_subinterpreters():
    same(INNER)


def test_daemon_threads_at_the_end():
    same(STOPS)
    same(STOPS, python_stack="full")


def test_a_fork_in_a_window():
    same(FORKS)
    same(FORKS, marker="none", schedule="")


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
