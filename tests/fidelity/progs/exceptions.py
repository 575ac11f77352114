# SPDX-License-Identifier: Apache-2.0
"""Operators that throw, in forward, in backward, in annotations and in hooks."""
import torch
from harness import profiled
from torch.profiler import record_function


class Sour(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        raise ValueError("sour")


def attempt(what):
    try:
        what()
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0][:60])


def annotated():
    with record_function("thrown through"):
        with record_function("inner"):
            torch.cat([torch.ones(2, 2), torch.ones(3, 3)])


x = torch.ones(2, 3, requires_grad=True)
with profiled():
    attempt(lambda: torch.mm(torch.ones(2, 3), torch.ones(2, 3)))
    attempt(lambda: torch.nn.functional.cross_entropy(torch.ones(1, 3), torch.tensor([7])))
    attempt(annotated)
    attempt(lambda: Sour.apply(x).sum().backward())
    attempt(lambda: (x * 1).sum().backward(torch.ones(4)))
    attempt(lambda: torch.linalg.cholesky(-torch.eye(3)))
    attempt(lambda: torch.empty(3).view(2))
    attempt(lambda: torch.ones(2, dtype=torch.long).softmax(0).requires_grad_().sum().tolist())
    (x * 3).sum().backward()
    print(x.grad.sum().item())
