# SPDX-License-Identifier: Apache-2.0
"""Gradient accumulation: four micro-batches to one update."""
import torch
from harness import profiled

torch.manual_seed(0)
model = torch.nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
with profiled():
    for update in range(2):
        total = 0.0
        for micro in range(4):
            loss = model(torch.randn(3, 5)).square().mean() / 4
            loss.backward()
            total += loss.item()
        optimizer.step()
        optimizer.zero_grad()
        print(round(total, 4))
