#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls aten::sgn from many places, each time with a tensor of another size, and writes what the
interpreter itself says of the stack at that moment.

python_lines.py ANSWERS      a JSON file: "path" (sys.path), "stacks" by size
"""
import asyncio
import contextlib
import functools
import json
import os
import sys
import threading

import torch
from torch.utils.checkpoint import checkpoint

ANSWERS = sys.argv[1]
SIZES, LOCK = iter(range(1000, 100000)), threading.Lock()
STACKS = {}
ONE = torch.ones(1)


def said(size):
    """What the interpreter says of the caller's stack."""
    frame, rows = sys._getframe(1), []
    while frame:
        rows.append([frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name])
        frame = frame.f_back
    STACKS[size] = rows
    return ONE.expand(size)


def take():
    """A new size."""
    with LOCK:
        return next(SIZES)


def op():
    torch.sgn(said(take()))      # one line: both have the same


def op_over_lines():
    torch.sgn(said(
        take()))
    size = take()
    (
        torch.ones(1),
        torch.sgn(said(size))
    )


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        op()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x):
        op()
        y = self.inner(x)
        op()
        return y


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        op()
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        op()
        return grad * 2


class Odd(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        op()
        return super().__torch_function__(function, types, args, kwargs or {})


def values(n):
    for _ in range(n):
        op()
        yield _


def both():
    yield from values(2)
    try:
        yield 3
    finally:
        op()


async def wait(depth):
    await asyncio.sleep(0)
    op()
    if depth:
        await wait(depth - 1)


def decorated(function):
    @functools.wraps(function)
    def outer(*args, **kwargs):
        op()
        return function(*args, **kwargs)
    return outer


@decorated
def inside():
    op()


class Item:
    def __lt__(self, other):
        op()
        return id(self) < id(other)

    def __getattr__(self, name):
        op()
        raise AttributeError(name)

    @property
    def value(self):
        op()
        return 1


@contextlib.contextmanager
def around():
    op()
    yield
    op()


def deep(n):
    return op() if not n else deep(n - 1)


def small_things():
    op()
    op_over_lines()
    list(values(2))
    for _ in both():
        op()
    generator = both()
    next(generator)
    generator.close()
    [op() for _ in range(2)]
    {op(): 1 for _ in range(2)}
    (lambda: op())()
    sorted([Item() for _ in range(3)])
    hasattr(Item(), "nothing")
    Item().value
    list(map(lambda _: op(), range(2)))
    inside()
    functools.partial(op)()
    with around():
        op()
    try:
        raise ValueError
    except ValueError:
        op()
    exec(compile("def made():\n    pass\n    op()\n\nmade()\nop()", "<made>", "exec"), globals())

    class Body:
        op()
    for n in (3, 60, 200):
        deep(n)
    asyncio.run(wait(3))


def torch_things():
    net = Net()
    net.register_forward_hook(lambda *_: op())
    x = torch.ones(2, 4, requires_grad=True)
    with torch.profiler.record_function("mine"):
        op()
        y = net(x)
    y.register_hook(lambda grad: op())
    Twice.apply(y).sum().backward()
    checkpoint(net, x, use_reentrant=False).sum().backward()
    checkpoint(net, x, use_reentrant=True).sum().backward()
    with torch.no_grad():
        torch.add(torch.ones(2).as_subclass(Odd), 1)


def main():
    small_things()
    torch_things()
    threads = [threading.Thread(target=small_things) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open(ANSWERS, "w", encoding="utf-8") as file:
        json.dump({"path": [os.path.abspath(p) for p in sys.path], "stacks": STACKS}, file)


main()
