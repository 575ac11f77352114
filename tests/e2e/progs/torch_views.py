# SPDX-License-Identifier: Apache-2.0
"""torch_views.py FOLDER - a program with modules under torch.profiler, its trace, and torch's tables by stack.

Net calls one activation in two places, and a block twice. Each table is a [N, text] of group_by_stack_n=N.
"""
import json
import os
import sys

import torch
from torch.profiler import ProfilerActivity, profile, schedule

if sys.version_info < (3, 12):
    import torch_tables
    import torch.autograd.profiler_util as util
    util.sum = torch_tables.exact_sum


class Block(torch.nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.linear, self.activation = torch.nn.Linear(16, 16), activation

    def forward(self, x):
        return self.activation(self.linear(x)) + x


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        activation = torch.nn.ReLU()
        self.block, self.activation, self.head = Block(activation), activation, torch.nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.activation(self.block(self.block(x))))


def train(step):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(5):
        loss = net(torch.randn(8, 16)).square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        step()


def main():
    path = os.path.join(sys.argv[1], "torch")
    with profile(activities=[ProfilerActivity.CPU], with_stack=True, with_modules=True, record_shapes=True,
                 schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
                 experimental_config=torch.profiler._ExperimentalConfig(verbose=True)) as prof:  # pylint: disable=protected-access
        train(prof.step)
    prof.export_chrome_trace(path + ".json")
    tables = [(n, prof.key_averages(group_by_stack_n=n).table(row_limit=-1)) for n in (1, 2, 5)]
    with open(path + ".tables", "w", encoding="utf-8") as file:
        json.dump(tables, file)


main()
