# SPDX-License-Identifier: Apache-2.0
"""Says peer_here from below libpython and libtorch, then trains a little.

    unwind_places.py [loops]   interrupted at random moments, too, as far as PEER_WALKS goes
"""
import atexit
import ctypes
import functools
import re
import signal
import sqlite3
import sys
import threading
import weakref
import xml.sax
import zlib

import torch

program = ctypes.CDLL(None)
said = set()


def here(name):
    if name not in said:
        said.add(name)
        program.peer_here(name.encode())


def compare(a, b):
    here("qsort, called by ctypes")
    return a[0] - b[0]


class Element(xml.sax.ContentHandler):
    def startElement(self, name, attrs):
        here("expat")


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        here("autograd.Function, forward")
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        here("autograd.Function, backward")
        return grad * 2


class Gone:
    pass


def python():
    numbers = (ctypes.c_int * 4)(3, 1, 4, 1)
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    program.qsort(numbers, 4, 4, kind(compare))
    sorted("python", key=functools.cmp_to_key(lambda a, b: here("sorted") or ord(a) - ord(b)))
    re.sub("a", lambda found: here("re.sub") or "b", "banana")
    base = sqlite3.connect(":memory:")
    base.create_function("here", 1, lambda x: here("sqlite3") or x)
    assert base.execute("select here(7)").fetchall() == [(7,)]
    xml.sax.parseString("<a><b/></a>", Element())
    signal.signal(signal.SIGUSR1, lambda *_: here("signal"))
    signal.raise_signal(signal.SIGUSR1)
    thread = threading.Thread(target=here, args=("thread",))
    thread.start()
    thread.join()
    gone = Gone()
    weakref.finalize(gone, here, "finalizer")
    del gone
    try:
        raise ValueError
    except ValueError:
        here("except")
    atexit.register(here, "atexit")


def train(loops):
    x, w = torch.randn(8, 3, 16, 16), torch.randn(4, 3, 3, 3, requires_grad=True)
    w.register_hook(lambda grad: here("hook") or grad)
    linear = torch.nn.Linear(14 * 14 * 4, 5)
    best = torch.optim.Adam([w, *linear.parameters()])
    for _ in range(loops):
        y = linear(Twice.apply(torch.conv2d(x, w).relu()).flatten(1))
        loss = torch.nn.functional.cross_entropy(y, torch.arange(8) % 5)
        best.zero_grad()
        loss.backward()
        best.step()
        zlib.compress(x.numpy().tobytes(), 9)
    try:
        torch.ones(2) @ torch.ones(3)
    except RuntimeError:
        here("a C++ exception became Python's")


python()
program.peer_arm()
train(int(sys.argv[1]))
print("done")
