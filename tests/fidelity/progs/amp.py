# SPDX-License-Identifier: Apache-2.0
"""Automatic mixed precision on the CPU, bfloat16."""
import torch
from harness import profiled

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with profiled():
    for step in range(2):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(torch.randn(8, 16))
            loss = out.float().logsumexp(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(round(loss.item(), 2), out.dtype)
