# SPDX-License-Identifier: Apache-2.0
"""What the interpreter and its C functions call: methods with special names, callbacks."""
import bisect
import collections
import contextvars
import copy
import ctypes
import functools
import gc
import heapq
import importlib
import itertools
import json
import operator
import pickle
import re
import sys
import tempfile
import weakref

import walk
from walk import check, quick


class Meta(type):
    @classmethod
    def __prepare__(mcs, name, bases, **kwargs):
        check()
        return super().__prepare__(name, bases)

    def __new__(mcs, name, bases, space, **kwargs):
        check()
        return super().__new__(mcs, name, bases, space)

    def __init__(cls, name, bases, space, **kwargs):
        check()
        super().__init__(name, bases, space)

    def __call__(cls, *args):
        check()
        return super().__call__(*args)

    def __instancecheck__(cls, other):
        return check(True)


class Named:
    def __set_name__(self, owner, name):
        check()

    def __get__(self, instance, owner):
        return check(5)

    def __set__(self, instance, value):
        check()


def make_classes():
    class Base(metaclass=Meta, word=1):
        inside = check(1)
        field = Named()

        def __init_subclass__(cls, **kwargs):
            check()

        def __new__(cls, *args):
            check()
            return super().__new__(cls)

        def __init__(self, n=0):
            check()
            self.n = n

        def __class_getitem__(cls, item):
            return check(cls)

    class Derived(Base):
        class Inner:
            check()

        def __init__(self, n):
            super().__init__(check(n))
            check()

    return Base, Derived


def shape_classes():
    base, derived = make_classes()
    base()
    derived(3)
    isinstance(3, base)
    base[int]
    derived(1).field
    derived(1).field = 3
    type("Made", (base,), {"field": Named()})(1)


class Plain:
    """Methods that Python calls from the bytecode once it has specialized it."""

    def __init__(self, n):
        self.n = quick(n)

    @property
    def p(self):
        return quick(self.n)

    def __getitem__(self, i):
        return quick(i)

    def __getattr__(self, name):
        return quick(name)

    def method(self, *args, key=None):
        return quick(args)

    @classmethod
    def c(cls):
        return quick()

    @staticmethod
    def s():
        return quick()


class Slim(Plain):
    __slots__ = ()

    def __getattribute__(self, name):
        quick()
        return super().__getattribute__(name)


def shape_specialized_calls():
    """Each often enough: the frames of an __init__ that bytecode enters have a helper around
    them since 3.12."""
    for i in range(60):
        a = Plain(i)
        a.p
        a[i]
        a.missing
        a.method(1, 2, key=3)
        a.method(*[1], **{"key": 2})
        Plain.c()
        a.s()
    for i in range(20):
        b = Slim(i)
        b.p
        b.missing


class All:
    """Every operator."""

    def __init__(self, n=0):
        self.n = n

    def __repr__(self):
        return check("All")

    def __format__(self, how):
        return check("f")

    def __bytes__(self):
        return check(b"")

    def __bool__(self):
        return check(True)

    def __len__(self):
        return check(2)

    def __hash__(self):
        return check(1)

    def __index__(self):
        return check(1)

    def __eq__(self, other):
        return check(False)

    def __lt__(self, other):
        return check(self.n < other.n)

    def __call__(self, *args, **kwargs):
        return check(args)

    def __iter__(self):
        check()
        return iter([1])

    def __next__(self):
        check()
        raise StopIteration

    def __contains__(self, x):
        return check(True)

    def __add__(self, other):
        return check(self)

    __radd__ = __iadd__ = __matmul__ = __add__

    def __neg__(self):
        return check(self)

    def __setitem__(self, i, x):
        check()

    def __delitem__(self, i):
        check()

    def __getitem__(self, i):
        return check(i)

    def __delattr__(self, name):
        check()

    def __enter__(self):
        return check(self)

    def __exit__(self, *why):
        return check(True)

    def __dir__(self):
        return check([])

    def __reduce__(self):
        check()
        return All, (1,)

    def __del__(self):
        check()


def shape_operators():
    a, b = All(1), All(2)
    repr(a), str(a), "%s" % a, f"{a}", f"{a!r:>4}", "{:x}".format(a), format(a), bytes(a)
    bool(a), len(a), hash(a), [1, 2][a], operator.index(a), a == b, a != b, a < b, a > b
    a(1, k=2), a + b, 3 + a, -a, a @ b, sum([a, b]), a[1], a[1:2], 3 in a
    if a and not b:
        check()
    a += b
    a[1] = 2
    del a[1], a.zz
    x, = a
    list(a)
    [*b], {**{}, "a": b}
    {a: 1, b: 2}, {a, b}, {a: 1}.get(b)
    with a, b as c:
        raise KeyError
    dir(a)
    sorted([All(i) for i in (3, 1, 2)])
    [All(3), All(1)].sort(reverse=True)
    min(a, b), max([a, b])
    heap = [All(3)]
    heapq.heappush(heap, All(2))
    bisect.insort(heap, All(1))
    copy.deepcopy(a)
    pickle.loads(pickle.dumps(a))
    list(itertools.islice(iter(All(), 1), 0))
    a.again = a                             # a circle: __del__ comes with the next collection
    del a, b, c
    gc.collect()


class Missing(dict):
    def __missing__(self, key):
        return check(key)


def module_getattr():
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/walked_module.py", "w", encoding="utf-8") as file:
            file.write("from walk import check\ncheck()\n\n\ncheck()\n"
                       "def __getattr__(name): return check(name)\n")
        sys.path.insert(0, folder)
        try:
            module = importlib.import_module("walked_module")
            module.zz
            importlib.reload(module)
        finally:
            sys.path.remove(folder)
            sys.modules.pop("walked_module")


def shape_callbacks():
    list(map(check, range(2)))
    list(map(lambda x: check(x), range(2)))
    list(filter(lambda x: check(x), range(2)))
    sorted(range(3), key=lambda x: check(-x))
    max(range(3), key=functools.partial(check))
    functools.reduce(lambda x, y: check(x + y), range(3))
    sorted([2, 1], key=functools.cmp_to_key(lambda x, y: check(x - y)))
    re.sub("a", lambda m: check(m[0]), "aba")
    json.loads('{"a": [{}]}', object_hook=lambda d: check(d))
    json.dumps([object()], default=lambda o: check("o"))
    list(iter(lambda: check(1), 1))
    list(itertools.starmap(lambda x: check(x), [(1,)]))
    list(itertools.accumulate([1, 2], lambda x, y: check(x + y)))
    [list(g) for _, g in itertools.groupby([1, 1, 2], key=lambda x: check(x))]
    Missing()["a"]
    collections.defaultdict(lambda: check(1))["a"]
    contextvars.copy_context().run(check)
    contextvars.copy_context().run(lambda: check())
    kept = All()
    weakref.finalize(kept, check)
    kept = weakref.ref(kept, lambda ref: check())
    module_getattr()


def shape_through_c():
    """C between the frames, with the lock and without; C's sort that calls back."""
    back = walk.CALLBACK(lambda: check())
    walk.held.walk_around(back)
    walk.free.walk_around(back)
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda a, b: check(0))
    for loaded in ctypes.CDLL(None), ctypes.PyDLL(None):
        loaded.qsort((ctypes.c_int * 4)(), ctypes.c_size_t(4), ctypes.c_size_t(4), compare)
    # A C function calls the library's.
    buffer = walk.room()
    size, want = list(map(walk.take_free, [buffer], [walk.ROOM]))[0], walk.own(sys._getframe())
    walk.settle(buffer, size, want, "by map")
    buffer = walk.room()
    size, want = functools.partial(walk.take_free, buffer)(walk.ROOM), walk.own(sys._getframe())
    walk.settle(buffer, size, want, "by partial")


def shape_operators_inside():
    """An operator that another one is inside of, where Python ran in between and where not."""
    for loaded in walk.held, walk.free:
        for back, want in (None, 15), (walk.CALLBACK(lambda: check()), 11), (walk.CALLBACK(lambda: None), 15):
            got = loaded.walk_around(back)
            if got != want:
                walk.fail("inside: %d is not %d" % (got, want))
            check()


def shape_collections():
    """The garbage collector calls back wherever something is allocated: on 3.11 also in a
    frame that is not complete yet."""
    def on_collection(phase, info):
        if phase == "stop" and not busy:
            busy.append(1)
            quick()
            busy.pop()

    def closure(a, b):
        def inner():
            return a, b, [a], {a: b}
        return inner()

    busy, before = [], gc.get_threshold()
    gc.callbacks.append(on_collection)
    gc.set_threshold(1, 1, 1)
    try:
        for i in range(30):
            closure(i, [i])
            list(closure(i, (j for j in [i])))
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(on_collection)
