# SPDX-License-Identifier: Apache-2.0
# packages: torch>=2.0
"""Activation checkpointing in both forms: forward runs again inside backward."""
import torch
from harness import profiled
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(0)
blocks = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Tanh())
                               for _ in range(4)))
with profiled():
    for reentrant in (True, False):
        x = torch.randn(3, 6, requires_grad=True)
        y = checkpoint_sequential(blocks, 2, x, use_reentrant=reentrant)
        y = checkpoint(lambda v: v.sin().exp(), y, use_reentrant=reentrant)
        y.sum().backward()
        print(round(x.grad.sum().item(), 4))
