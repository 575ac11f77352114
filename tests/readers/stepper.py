# SPDX-License-Identifier: Apache-2.0
"""stepper.py FOLDER - a training loop with torch.profiler in it, by the book.

Schedule wait=1, warmup=1, active=4: whoever records the same steps must come to the
same numbers.
"""
import sys

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Flatten(),
    torch.nn.Linear(16 * 30 * 30, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
data = TensorDataset(torch.randn(128, 3, 32, 32), torch.randint(10, (128,)))
with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True,
             schedule=schedule(wait=1, warmup=1, active=4, repeat=1),
             on_trace_ready=tensorboard_trace_handler(sys.argv[1])) as profiler:
    for pictures, labels in DataLoader(data, batch_size=16):
        loss = F.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        profiler.step()
        print(round(loss.item(), 3))
