# SPDX-License-Identifier: Apache-2.0
"""autograd.Function: saved tensors, several outputs, None gradients, nested apply."""
import torch
from harness import profiled


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.bounds = low, high
        return x.clamp(low, high), (x > high).sum()

    @staticmethod
    def backward(ctx, grad, _):
        (x,) = ctx.saved_tensors
        low, high = ctx.bounds
        return grad * ((x >= low) & (x <= high)), None, None


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + x

    @staticmethod
    def backward(ctx, grad):
        with torch.enable_grad():
            y = torch.ones(3, requires_grad=True)
            (inner,) = torch.autograd.grad((y * y).sum(), y)
        return grad * inner


x = torch.linspace(-2, 2, 3).requires_grad_()
with profiled():
    clipped, count = Clip.apply(x, -1.0, 1.0)
    Twice.apply(clipped).sum().backward()
    print(x.grad.tolist(), count.item())
