# SPDX-License-Identifier: Apache-2.0
"""Calls of every kind, without torch. COUNT=1: prints how often each function was called, and by
which, as the interpreter's own profile function is told."""
import asyncio
import collections
import contextlib
import functools
import json
import os
import sys
import threading

OUT = []
CALLS = collections.Counter()
DEPTH = int(os.environ.get("DEPTH", "0"))


def generate(n):
    try:
        for i in range(n):
            if (yield i):
                OUT.append("sent")
    except KeyError:
        yield "after"
    finally:
        OUT.append("closed")


def delegate(n):
    return (yield from generate(n))


async def wait(n):
    await asyncio.sleep(0)
    if n:
        return await wait(n - 1)
    raise ValueError(n)


async def generate_async(n):
    for i in range(n):
        yield i
        await asyncio.sleep(0)


async def main():
    with contextlib.suppress(ValueError):
        await wait(4)
    OUT.append([i async for i in generate_async(3)])


class Meta(type):
    def __call__(cls, *args):
        return super().__call__(*args)


class Thing(metaclass=Meta):
    def __init__(self, n=0):
        self.n = n

    def __eq__(self, other):
        raise TypeError

    def __hash__(self):
        return self.n

    def __getattr__(self, name):
        raise AttributeError(name)

    def __del__(self):
        OUT.append("gone")


@contextlib.contextmanager
def within():
    yield 1


def decorate(function):
    @functools.wraps(function)
    def around(*args):
        return function(*args)
    return around


@decorate
def decorated(x):
    return x


def deep(n):
    return 0 if not n else deep(n - 1)


def fail():
    raise KeyError(1)


def in_thread(n):
    OUT.append(len(list(generate(n))))
    raise SystemExit


def body():
    g = generate(5)
    next(g)
    g.send("x")
    g.close()
    list(delegate(4))
    asyncio.new_event_loop().run_until_complete(main())
    thing = Thing(1)
    hasattr(thing, "other")
    with contextlib.suppress(TypeError):
        OUT.append(thing == 3)
    del thing
    with within():
        decorated(1)
    with contextlib.suppress(KeyError):
        fail()
    OUT.append(sorted([3, 1, 2], key=lambda v: -v))
    OUT.append(functools.reduce(lambda x, y: x + y, range(9)))
    for i in range(3):
        made = {}
        exec(compile("def made%d(x):\n    return x\nmade%d(1)\n" % (i, i), "made.py", "exec"), made)
    deep(30)
    threads = [threading.Thread(target=in_thread, args=(n,)) for n in (1, 2, 3)]
    for thread in threads:
        thread.start()
        thread.join()


def tell(frame, event, _):
    if event == "call" and os.path.basename(frame.f_code.co_filename) in ("python_functions.py", "made.py"):
        back = frame.f_back
        CALLS[frame.f_code.co_name + "<" + (back.f_code.co_name if back else "")] += 1


def tools():
    monitoring = getattr(sys, "monitoring", None)
    return [sys.getprofile() is None, monitoring and [monitoring.get_tool(i) for i in range(6)]]


if __name__ == "__main__":
    if os.environ.get("COUNT"):
        threading.setprofile(tell)
        sys.setprofile(tell)
    body()
    if os.environ.get("COUNT"):
        sys.setprofile(None)
        threading.setprofile(None)
    if DEPTH:
        threading.stack_size(512 << 20)
        sys.setrecursionlimit(DEPTH + 100)
        thread = threading.Thread(target=deep, args=(DEPTH,))
        thread.start()
        thread.join()
    print(json.dumps({"out": OUT, "calls": CALLS, "tools": tools()}))
