# SPDX-License-Identifier: Apache-2.0
"""Allocations below calls from Python to C and back, whose order is known."""
import ctypes
import functools

kept = []


def alloc(n):
    kept.append(bytearray(n))


def key(x):
    alloc(1000001)
    return x


def inner(x):
    return sorted([x], key=key)


def outer():
    list(map(inner, [1]))


class Made:
    def __init__(self):
        alloc(1100001)


class Less:
    def __lt__(self, other):
        alloc(1200001)
        return True


def generator():
    alloc(1300001)
    yield 1


def from_generator():
    yield from generator()


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def compare(_x, _y):
    alloc(1400001)
    return 0


def sort_by_c():
    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(1, 2), 2, 4, compare)


def deep(n):
    if n:
        return deep(n - 1)
    return functools.partial(alloc, 1500001)()


class Mapping(dict):
    def __missing__(self, name):
        return sum(map(lambda n: alloc(1600001) or n, [1]))


def twice(n):
    alloc(n)


outer()
Made()
sorted([Less(), Less()])
list(from_generator())
sort_by_c()
deep(9)
exec("Mapping()['x']")
# From the same place, by Python and by C.
for call, size in ((twice, 1700001), (twice, 1700001), (functools.partial(twice), 1800001)):
    call(size)
