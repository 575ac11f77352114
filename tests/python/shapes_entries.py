# SPDX-License-Identifier: Apache-2.0
"""Which frames C called: a stack is merged with the native one by that (walk.settle compares how many)."""
import ctypes
import functools
import sys

import walk
from walk import check

ALL = sys.version_info < (3, 11)         # the interpreter's loop executed one frame
INIT = [{1}] if sys.version_info < (3, 12) else [{0, 1}, {1}] if sys.version_info < (3, 13) else [{0, 1}]


def look(*_):
    """In each frame's name is what called it: c_ or p_."""
    buffer = walk.room()
    stack, _, entries, _ = walk.read_all(buffer, walk.take_free(buffer, walk.ROOM))
    walk.spare.append(buffer)
    if walk.tight and not stack:
        return 0
    for (_, _, name), entry in zip(stack, entries):
        if name[:2] in ("c_", "p_") and entry != (ALL or name[0] == "c"):
            walk.fail("%s: %d of %r" % (name, entry, list(zip([row[2] for row in stack], entries))))
    if not entries[-1]:
        walk.fail("the outermost frame: %r" % entries)
    check()
    return 0


def p_look(*_):
    return look()


def c_look(*_):
    return p_look()


class Thing:
    def __init__(self, function=p_look):
        self.function = function

    def __lt__(self, other):
        return bool(self.function())

    def p_method(self, *_):
        return self.function()

    @staticmethod
    def c_static(*_):
        return p_look()


def c_generator():
    for x in (1, 2):
        p_look()
        yield x


def shape_by_c():
    for _ in range(40):                  # often enough for an interpreter that specializes
        list(map(c_look, "ab"))
        sorted("ab", key=c_look)
        functools.partial(c_look, 1)()
        functools.partial(functools.partial(c_look), 1)()
        functools.reduce(c_look, "abc")
        max("ab", key=Thing.c_static)
        list(c_generator())
        next(c_generator())
        sorted([Thing(), Thing()])
        list(map(lambda _: p_look(), "a"))
    back = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(c_look)
    for loaded in ctypes.CDLL(None), ctypes.PyDLL(None):
        loaded.qsort((ctypes.c_int * 4)(), ctypes.c_size_t(4), ctypes.c_size_t(4), back)


def shape_by_python():
    thing, bound = Thing(), Thing().p_method
    for _ in range(40):
        p_look()
        p_look(1, 2)
        thing.p_method()
        bound(3)
        (lambda: p_look())()
        [p_look() for _ in "ab"]


class Made:
    def __init__(self, seen):
        buffer = walk.room()
        stack, _, entries, loops = walk.read_all(buffer, walk.take_free(buffer, walk.ROOM))
        walk.spare.append(buffer)
        if stack and sum(entries) != loops:
            walk.fail("%r and %d loops" % (entries, loops))
        seen.append(entries[0] if stack else -1)


def shape_by_both():
    """The same place calls through C until the interpreter knows the class."""
    seen = []
    for _ in range(100):
        Made(seen)
    if not walk.tight and (not seen[0] or set(seen) not in INIT):
        walk.fail("__init__: %r" % seen)
