#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cost_work.py NAME - a program of cost_bench.py; prints the processor time in ns that its
own thread has used in all, the import of torch included."""
import json
import sys
import time


def texts():
    data = {str(i): [i, float(i), str(i) * 3] for i in range(2000)}
    for _ in range(60):
        data = json.loads(json.dumps(data))


def with_torch(name):
    import torch
    torch.set_num_threads(1)
    if name == "operators":
        x, y = torch.ones(1), torch.ones(1)
        for _ in range(1_000_000):
            x.add_(y)
    elif name == "training":
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
        x, y = torch.randn(32, 64), torch.randn(32, 8)
        for _ in range(2000):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
    elif name == "convolutions":
        model, x = torch.nn.Conv2d(16, 32, 3), torch.randn(4, 16, 48, 48)
        for _ in range(200):
            model(x).sum().backward()


if sys.argv[1] == "texts":
    texts()
else:
    with_torch(sys.argv[1])
print(time.thread_time_ns())
