# SPDX-License-Identifier: Apache-2.0
# packages: torch>=2.1
# commands: g++
"""torch.compile on the CPU: graphs made before and inside the window."""
import torch
from harness import profiled


def block(x, w):
    return torch.nn.functional.silu(x @ w).sum(-1) * 2 + x.mean()


torch.manual_seed(0)
compiled = torch.compile(block)
x, w = torch.randn(16, 8), torch.randn(8, 8, requires_grad=True)
compiled(x, w).sum().backward()
with profiled():
    for step in range(3):
        w.grad = None
        loss = compiled(x, w).sum()
        loss.backward()
        print(round(loss.item(), 3), round(w.grad.sum().item(), 3))
