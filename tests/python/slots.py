#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of Python's whose pointer to C is exchanged for ours: what arrives, and that all is as
before when it is put back."""
import ctypes
import os
import sys
import threading
import types

import walk

LIBRARY = walk.held
LIBRARY.watch_find.argtypes = [ctypes.c_int, ctypes.py_object]
LIBRARY.watch_find.restype = ctypes.c_char_p
LIBRARY.watch_set.argtypes = [ctypes.c_int, ctypes.c_bool]
LIBRARY.watch_set.restype = ctypes.c_bool
LIBRARY.watch_kin.argtypes = [ctypes.py_object, ctypes.c_bool]
LIBRARY.watch_kin.restype = ctypes.c_bool
LIBRARY.watch_seen.argtypes = [ctypes.c_int, ctypes.c_bool]
LIBRARY.watch_seen.restype = ctypes.c_uint64
OFFSET = ctypes.c_long.from_address(id(type(walk.fail)) + 56).value
AGAIN = 100
KIN_MOST = 64
STORE, LOCKED = False, True
IS_311 = sys.version_info[:2] == (3, 11)


def pointer(function):
    return ctypes.c_void_p.from_address(id(function) + OFFSET)


def seen(n):
    return LIBRARY.watch_seen(n, False)


def want(what, got, wanted):
    if got != wanted:
        walk.fail("%s: %r, not %r" % (what, got, wanted))


class Thing:
    def __call__(self, value, *, plus=1):
        if value is None:
            raise KeyError("it is kept")
        return value + plus


class Child(Thing):
    def __call__(self, value, *, plus=1):
        return super().__call__(value, plus=plus)


CALL = Thing.__call__


def by_python(n):
    """A site that is specialised for this function after some calls."""
    thing, before = Child(), seen(n)
    for value in range(AGAIN):
        want("a call", thing(value, plus=2), value + 2)
    return seen(n) - before


def from_c(n):
    thing, before = Thing(), seen(n)
    want("calls from C", list(map(thing, range(AGAIN))), list(range(1, AGAIN + 1)))
    return seen(n) - before


def test_reach():
    stock = pointer(CALL).value
    references = sys.getrefcount(CALL)
    want("found", LIBRARY.watch_find(0, CALL), None)
    want("found again", LIBRARY.watch_find(0, CALL), None)
    want("references", sys.getrefcount(CALL), references + 1)
    want("before", (by_python(0), from_c(0)), (0, 0))
    for how in LOCKED, STORE, LOCKED:
        want("set", LIBRARY.watch_set(0, how), True)
        want("set again", LIBRARY.watch_set(0, how), True)
        want("from C", from_c(0), AGAIN)
        if how == LOCKED:
            want("by Python", by_python(0), 0 if IS_311 else AGAIN)
        try:
            Thing()(None)
        except KeyError as error:
            want("the error", error.args, ("it is kept",))
        LIBRARY.watch_unset(0)
        LIBRARY.watch_unset(0)
        want("the pointer", pointer(CALL).value, stock)
        want("after", (by_python(0), from_c(0)), (0, 0))
    want("failures", LIBRARY.watch_seen(0, True), 3)


def test_several():
    """They come and go in any order, and each sees what is called while it is there."""
    stock = pointer(CALL).value
    for first in range(3):
        for gone in range(3):
            order = [first, (first + 1) % 3, (first + 2) % 3]
            for n in order:
                want("found", LIBRARY.watch_find(n, CALL), None)
                want("set", LIBRARY.watch_set(n, STORE), True)
            want("all", [from_c(n) for n in order], [AGAIN] * 3)
            LIBRARY.watch_unset(gone)
            want("one less", [from_c(n) for n in order], [0 if n == gone else AGAIN for n in order])
            want("set", LIBRARY.watch_set(gone, STORE), True)
            want("all", [from_c(n) for n in order], [AGAIN] * 3)
            for n in order[1:] + order[:1]:
                LIBRARY.watch_unset(n)
            want("the pointer", pointer(CALL).value, stock)


def test_a_type_for_several():
    """Who no longer needs it takes it from nobody else."""
    function = type(CALL)
    want("set", LIBRARY.watch_set(0, LOCKED), True)
    for several in 1, 2, 3:
        for _ in range(several):
            want("wanted", LIBRARY.watch_kin(CALL, True), True)
        for _ in range(several):
            want("another type", type(CALL) is not function, IS_311)
            want("by Python", by_python(0), AGAIN)
            LIBRARY.watch_kin(CALL, False)
        want("the type", type(CALL), function)
        LIBRARY.watch_kin(CALL, False)
    LIBRARY.watch_unset(0)
    told, untold = types.FunctionType(CALL.__code__, {}), types.FunctionType(CALL.__code__, {})
    told.__doc__, untold.__doc__ = "Mine.", None
    for one, doc in (told, "Mine."), (untold, None):
        LIBRARY.watch_kin(one, True)
        want("what it says of itself", one.__doc__, doc)
        one.__doc__ = "Other."
        want("and is given", (one.__doc__, one.__dict__), ("Other.", {}))
        LIBRARY.watch_kin(one, False)
        want("for good", one.__doc__, "Other.")
    made = [types.FunctionType(CALL.__code__, {}) for _ in range(KIN_MOST + 1)]
    want("all but one", [LIBRARY.watch_kin(one, True) for one in made], [True] * KIN_MOST + [not IS_311])
    for one in made:
        LIBRARY.watch_kin(one, False)
    want("the types", {type(one) for one in made}, {function})


def test_another_tool():
    """What it has put over ours stays; ours may be behind it, and passes calls on."""
    stock = pointer(CALL).value
    kind = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    want("set", LIBRARY.watch_set(0, STORE), True)
    below = kind(pointer(CALL).value)
    theirs = kind(below)
    pointer(CALL).value = ctypes.cast(theirs, ctypes.c_void_p).value
    LIBRARY.watch_unset(0)
    want("another", LIBRARY.watch_set(1, STORE), False)
    want("the pointer", pointer(CALL).value, ctypes.cast(theirs, ctypes.c_void_p).value)
    want("behind it", from_c(0), AGAIN)
    want("found", LIBRARY.watch_find(2, Child.__call__), None)
    want("not found", LIBRARY.watch_find(2, CALL), b"another tool stands in front of it")
    want("found again", LIBRARY.watch_find(2, Child.__call__), None)
    want("set", LIBRARY.watch_set(2, STORE), True)
    LIBRARY.watch_unset(2)
    pointer(CALL).value = stock
    want("set", LIBRARY.watch_set(0, STORE), True)
    want("from C", from_c(0), AGAIN)
    LIBRARY.watch_unset(0)
    want("the pointer", pointer(CALL).value, stock)


def test_what_is_no_function():
    for what in len, Thing, Thing(), Thing().__call__, None, staticmethod(CALL):
        if not LIBRARY.watch_find(0, what):
            walk.fail("found: %r" % (what,))


def test_threads():
    """Set and unset by a thread without the interpreter's lock, while others call."""
    stock = pointer(CALL).value
    wrong = []

    def work():
        for turn in range(300):
            if from_c(0) < 0 or Child()(turn) != turn + 1:
                wrong.append(turn)

    def run():
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for n in range(3):
        want("found", LIBRARY.watch_find(n, CALL), None)
    free = ctypes.CDLL(os.environ["PYTHON_WALK"])
    back = walk.CALLBACK(run)
    want("flipped", free.watch_flip(back), 1)
    want("wrong", wrong, [])
    want("the pointer", pointer(CALL).value, stock)


def test_a_child():
    stock = pointer(CALL).value
    want("set", LIBRARY.watch_set(0, STORE), True)
    child = os.fork()
    if not child:
        LIBRARY.watch_unset(0)
        os._exit(0 if pointer(CALL).value == stock and not from_c(0) else 3)
    want("the child", os.waitpid(child, 0)[1], 0)
    want("the parent", from_c(0), AGAIN)
    LIBRARY.watch_unset(0)


walk.start()
for test in (test_reach, test_several, test_a_type_for_several, test_another_tool, test_what_is_no_function, test_threads,
             test_a_child):
    walk.shape[0] = test.__name__
    test()
print("ok")
