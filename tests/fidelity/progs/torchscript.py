# SPDX-License-Identifier: Apache-2.0
"""TorchScript: scripted and traced modules, control flow, calls between functions."""
import warnings

import torch
from harness import profiled

warnings.simplefilter("ignore")


@torch.jit.script
def helper(x, n: int):
    for i in range(n):
        if bool(x.sum() > 0):
            x = x * 0.5
        else:
            x = x + float(i)
    return x


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.second(torch.relu(helper(self.first(x), 3)))


torch.manual_seed(0)
net = Net()
scripted = torch.jit.script(net)
traced = torch.jit.trace(net.first, torch.ones(2, 4))
with profiled():
    for step in range(4):
        loss = scripted(torch.randn(3, 4)).sum() + traced(torch.ones(3, 4)).sum()
        loss.backward()
        print(round(loss.item(), 4))
