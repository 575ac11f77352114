# SPDX-License-Identifier: Apache-2.0
"""A real training loop, the same numbers each time, whoever looks on."""
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(2)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(),
    torch.nn.Linear(8 * 14 * 14, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(6):
    x, y = torch.randn(16, 3, 16, 16), torch.randint(10, (16,))
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 4))
print("to stderr", file=sys.stderr)
sys.exit(3)
