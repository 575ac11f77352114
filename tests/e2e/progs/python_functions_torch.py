# SPDX-License-Identifier: Apache-2.0
"""A training loop whose steps end in the middle of an epoch's function. TRACE=path: torch.profiler records body()."""
import contextlib
import os

import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return 2 * x * grad


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.act = torch.nn.Linear(8, 8), torch.nn.ReLU()

    def forward(self, x):
        return Square.apply(self.act(self.linear(x)))


net = torch.nn.Sequential(Block(), Block(), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=.01)


def load(n):
    for i in range(n):
        yield torch.full((4, 8), float(i)), torch.zeros(4, 2)


def step(x, y):
    optimizer.zero_grad()
    with torch.autograd.profiler.record_function("forward pass"):
        loss = torch.nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()


def epoch(n):
    for x, y in load(n):
        step(x, y)


def body():
    for _ in range(3):
        epoch(4)


def boundary():
    pass


if __name__ == "__main__":
    body()
    boundary()
    with contextlib.ExitStack() as stack:
        if os.environ.get("TRACE"):
            made = stack.enter_context(torch.profiler.profile(
                activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True))
        body()
    boundary()
    if os.environ.get("TRACE"):
        made.export_chrome_trace(os.environ["TRACE"])
    print(float(next(net.parameters()).sum().detach() * 0 + 1))
