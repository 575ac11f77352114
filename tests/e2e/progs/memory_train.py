# SPDX-License-Identifier: Apache-2.0
"""memory_train.py KIND [leak] [stack] [TRACE [TIMELINE...]] - small training loops.

With TRACE under torch.profiler(profile_memory=True), without it plain.
"""
import contextlib
import sys
import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")
words = sys.argv[2:]
kind, leak, stack = sys.argv[1], "leak" in words, "stack" in words
files = [word for word in words if word not in ("leak", "stack")]
kept = []
torch.manual_seed(0)
torch.set_num_threads(1)


def linear():
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                          nn.Linear(256, 10))
    x, y = torch.randn(1024, 64), torch.randint(0, 10, (1024,))
    return model, torch.optim.Adam(model.parameters()), x, y, 64


def conv():
    model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(16, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(),
                          nn.Dropout(0.1), nn.Linear(32 * 4 * 4, 10))
    x, y = torch.randn(256, 3, 14, 14), torch.randint(0, 10, (256,))
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), x, y, 16


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 64)
        self.layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.layer(self.embed(x)).mean(1))


def attention():
    x, y = torch.randint(0, 100, (256, 16)), torch.randint(0, 10, (256,))
    model = Attention()
    return model, torch.optim.AdamW(model.parameters(), foreach=True), x, y, 16


def batches(x, y, size):
    if kind == "accumulate":    # no DataLoader: batches are made here
        for i in range(len(x) // size):
            yield torch.randn(size, 64), torch.randint(0, 10, (size,))
        return
    data = torch.utils.data.TensorDataset(x, y)
    yield from torch.utils.data.DataLoader(data, batch_size=size)


def ready(profiler):
    profiler.export_chrome_trace(files[0])
    for path in files[1:]:
        profiler.export_memory_timeline(path, device="cpu")


model, optimizer, xs, ys, batch = {"conv": conv, "attention": attention}.get(kind, linear)()
profiler = torch.profiler.profile(
    activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True, profile_memory=True,
    with_stack=stack, schedule=torch.profiler.schedule(wait=1, warmup=1, active=8, repeat=1),
    on_trace_ready=ready) if files else contextlib.nullcontext()
with profiler:
    for i, (x, y) in enumerate(batches(xs, ys, batch)):
        if kind != "accumulate" or i % 2 == 0:
            optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        if leak:
            kept.append(torch.sigmoid(x) * 2)
        loss.backward()
        if kind != "accumulate" or i % 2:
            optimizer.step()
        if files:
            profiler.step()
print(f"{loss.item():.6f}")
