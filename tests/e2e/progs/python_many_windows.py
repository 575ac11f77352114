# SPDX-License-Identifier: Apache-2.0
"""For some seconds within modules, one of them with thousands of parts: operators, and calls of modules."""
import time

import torch
from torch import nn


class In(nn.Module):
    def forward(self, x):
        return x[0]


class Mid(nn.Module):
    def __init__(self):
        super().__init__()
        self.i = In()

    def forward(self, x):
        return self.i(x)


class Out(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = Mid()
        self.parts = nn.ModuleList([nn.Identity() for _ in range(5000)])

    def forward(self, x):
        end = time.monotonic() + 3
        while time.monotonic() < end:
            self.m(x)


torch.set_num_threads(1)
Out()(torch.ones(2))
print("went on")
