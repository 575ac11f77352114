#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""--c-calls beside programs with odd modules and objects: they end as they do without us."""
import sys

import prof
from test_python_walk import each

BEGIN = """
import functools, json, math, sys, types, weakref
def boundary(): pass
"""
STEPS = """
for i in range(6):
    boundary()
    print(i, math.fabs(-i))
"""
STEP = {"marker": "python:boundary@begin", "schedule": "wait=1,active=1"}


def same(code, **options):
    def one(python):
        bare = prof.plain([python, "-c", code])
        with prof.folder() as log:
            run = prof.launch([python, "-c", code], log, check=False, timeout=40, **{**STEP, **options})
            assert (run.status, run.out) == (0, bare.stdout), (run.status, run.out, bare.stdout, run.err[-500:])
        return "ok"
    each(one)


def test_a_static_method_that_wraps_itself():
    same(BEGIN + "json.own = staticmethod(len); json.own.__init__(json.own)" + STEPS, c_calls="json,math")


def test_modules_that_were_not_begun():
    """Up to 3.10 they have no dictionary."""
    same(BEGIN + "sys.modules['json.none'] = types.ModuleType.__new__(types.ModuleType)" + STEPS,
         c_calls="json,math")
    same(BEGIN + "sys.modules['threading'] = types.ModuleType.__new__(types.ModuleType)" + STEPS +
         "del sys.modules['threading']", c_calls="all")


def test_objects_of_the_program_end_when_they_did():
    """Since 3.12 objects of classes below partial and ref are called by pointers of their own."""
    same(BEGIN + """
class Ref(weakref.ref): pass
class Part(functools.partial):
    def __del__(self): print("the part ends")
class Thing: pass
thing = Thing()
json.ref = Ref(thing, lambda ref: print("never called"))
json.part = Part(len, "x")
""" + STEPS + "del json.ref, json.part, thing; print('end')", c_calls="json,math")


CALLED = BEGIN + """
mon = getattr(sys, "monitoring", None)
def try_all():
    for tool in range(6) if mon else ():
        if mon.get_tool(tool) != "proflaunch": continue
        for event in (mon.events.PY_START, mon.events.PY_RETURN, mon.events.CALL, mon.events.C_RETURN):
            ours = mon.register_callback(tool, event, None)
            for args in (), (1,), (try_all.__code__, 0), (1, 2, 3), (None, 0, len): ours and ours(*args)
""" + STEPS.replace("print", "try_all(); print")


def test_our_functions_called_by_the_program():
    same(CALLED, c_calls="all")
    same(CALLED, python_stack="full")


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
