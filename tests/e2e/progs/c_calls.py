# SPDX-License-Identifier: Apache-2.0
"""Calls C functions in a step that cProfile counts, too; and asks whether tables are as they were."""
import collections
import ctypes
import json
import math
import os
import sys
import threading
import zlib

profile = os.environ.get("COUNT") and __import__("cProfile").Profile()
FABS = {}       # what the interpreter would call for math.fabs, at each moment


class Kept:
    def __init__(self, x):
        self.x = x

    def size(self):
        return len(self.x)


def table_of(function):
    """PyCFunctionObject.m_ml->ml_meth"""
    return ctypes.c_void_p.from_address(ctypes.c_void_p.from_address(id(function) + 16).value + 8).value


def calls(n):
    d, s = collections.deque(), []
    for i in range(n):
        s.append(i)
        d.append(str(i).join(["a", "b"]))
        sorted(s, key=lambda v: abs(-v))
        Kept(s).size()
        math.fabs(i)
        zlib.crc32(b"abc", i)
        for wrong in lambda: int.from_bytes("x", "big"), lambda: json.loads("{"), lambda: math.sqrt(-1):
            try:
                wrong()
            except (TypeError, ValueError):
                pass
    return len(json.dumps(s)) + len(list(map(math.floor, s))) + sum(x.bit_length() for x in s)


def boundary():
    pass


def threads():
    started = [threading.Thread(target=calls, args=(5,)) for _ in range(4)]
    for t in started:
        t.start()
    for t in started:
        t.join()


FABS["before"] = table_of(math.fabs)
boundary()
out = calls(3)
boundary()
FABS["within"] = table_of(math.fabs)
if profile:
    profile.enable()
out += calls(40)
if profile:
    profile.disable()
boundary()
FABS["after"] = table_of(math.fabs)
threads()
boundary()
if os.environ.get("FORK"):
    pid = os.fork()
    if not pid:
        FABS["child"] = table_of(math.fabs)
        out = calls(3) == 0 or FABS["child"] != FABS["before"]
        os._exit(int(out))
    out += os.waitpid(pid, 0)[1]
boundary()
counted = {}
if profile:
    import pstats
    counted = {key[2]: found[1] for key, found in pstats.Stats(profile).stats.items() if key[0] == "~"}
print(json.dumps({"out": out, "fabs": FABS, "counted": counted}))
sys.exit(3)
