# SPDX-License-Identifier: Apache-2.0
"""allocate.py OUT - allocates from many shapes of Python code, and says in OUT where each block is from.

Each block has a size that no other has: OUT maps it to the interpreter's own stack at the call, innermost
first, [file, line, function]. For Python 3.8 and later, without packages.
"""
import asyncio
import array
import contextlib
import functools
import gc
import itertools
import json
import sys
import threading
import weakref
import zlib

sizes = itertools.count(200000, 64)
expected, keep = {}, []


def note(frame, more=0, above=0):
    """The next size; `more`: what the object has beside its bytes; `above`: lines up to where its call begins."""
    size = next(sizes)
    stack = [[frame.f_code.co_filename, frame.f_lineno - above, frame.f_code.co_name]]
    frame = frame.f_back
    while frame is not None:
        stack.append([frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name])
        frame = frame.f_back
    expected[size + more] = stack
    return size


def here(depth=0):
    """A bytearray has one byte more than it shows."""
    keep.append(bytearray(note(sys._getframe(), 1)))
    if depth:
        here(depth - 1)


def lines():
    keep.append(bytearray(note(sys._getframe(), 1)))
    for _ in range(3):
        keep.append(
            bytearray(
                note(sys._getframe(), 1, 1)))
    keep.append([bytearray(note(sys._getframe(), 1)) for _ in range(3)])
    keep.append((lambda: bytearray(note(sys._getframe(), 1)))())
    keep.append(functools.partial(lambda n: bytearray(note(sys._getframe(), 1)), 1)())
    keep.append({n: bytearray(note(sys._getframe(), 1)) for n in range(2)})


def generators():
    def inner():
        here()
        yield bytearray(note(sys._getframe(), 1))
        here()

    def outer():
        yield from inner()
        yield bytearray(note(sys._getframe(), 1))
    keep.extend(outer())
    keep.append(list(bytearray(note(sys._getframe(), 1)) for _ in range(2)))
    half = outer()
    keep.append(next(half))
    half.close()


def coroutines():
    async def leaf():
        here()
        await asyncio.sleep(0)
        keep.append(bytearray(note(sys._getframe(), 1)))

    async def numbers():
        for _ in range(2):
            here()
            yield bytearray(note(sys._getframe(), 1))

    async def main():
        await asyncio.gather(leaf(), leaf())
        async for one in numbers():
            keep.append(one)
    asyncio.run(main())


def classes():
    class Base:
        inside = bytearray(note(sys._getframe(), 1))

        def __init__(self):
            here()
            self.data = bytearray(note(sys._getframe(), 1))

        def __lt__(self, other):
            here()
            return True

        @property
        def more(self):
            return bytearray(note(sys._getframe(), 1))

        def __del__(self):
            here()

    class Inner(Base):
        def __init__(self):
            super().__init__()
            here()
    keep.append((Base.inside, Inner().data, Inner().more))
    sorted([Inner(), Inner()])
    round_trip = Inner()
    round_trip.self = round_trip
    del round_trip
    gc.collect()
    dying = Inner()
    watch = weakref.ref(dying, lambda _: here())
    del dying
    keep.append(watch)


def made():
    for n in range(5):
        space = {"here": here, "keep": keep, "note": note, "sys": sys}
        exec(compile("\n" * n + "def f():\n    keep.append(bytearray(note(sys._getframe(), 1)))\n    here()\nf()\n",
                     "<made %d>" % n, "exec"), space)
        space.clear()


@contextlib.contextmanager
def around():
    here()
    yield
    here()


def exceptions():
    with around():
        here()
    try:
        try:
            here()
            raise ValueError
        finally:
            here()
    except ValueError:
        here()


def threads():
    def run():
        here(3)
        lines()
    workers = [threading.Thread(target=run) for _ in range(3)]
    for one in workers:
        one.start()
        one.join()


def c_functions():
    """Allocated by functions of C that Python calls, without the interpreter's lock, too."""
    noise = bytes(range(256)) * 4
    keep.append(array.array("b", [0]) * note(sys._getframe()))
    keep.append(b"x" * note(sys._getframe(), 33))   # sys.getsizeof(b"")
    keep.append(list(map(lambda n: here(), range(2))))
    keep.append(zlib.decompress(zlib.compress(noise), zlib.MAX_WBITS, note(sys._getframe(), 33)))


def deep(n):
    if n:
        return deep(n - 1)
    return here(2)


for shape in lines, generators, coroutines, classes, made, exceptions, threads, c_functions:
    shape()
for n in 10, 100, 126, 127, 128, 300, 700:
    deep(n)
    here()
with open(sys.argv[1], "w") as file:
    json.dump(expected, file)
