# SPDX-License-Identifier: Apache-2.0
"""Operators below calls from Python to C++ and back, whose order is known; by sizes of tensors."""
import ctypes

import torch


def work(n):
    torch.ones(n).sgn()


def key(n):
    work(n)
    return n


class Inner(torch.nn.Module):
    def forward(self, x):
        return x.sgn() + torch.ones(1 << 20).sum()


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        work(103)
        return grad * 2


def compiled(x):
    return x.sgn() + 1


sorted([101], key=key)
Outer()(torch.ones(102))
Twice.apply(torch.ones(3, requires_grad=True)).sum().backward()
with torch.profiler.record_function("note"):
    work(104)
fast = torch.compile(compiled, backend="eager")
for _ in range(3):
    fast(torch.ones(105))
kept = torch.ones(1 << 22)
ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))  # lives at the window's end
