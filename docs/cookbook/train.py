# SPDX-License-Identifier: Apache-2.0
"""Fit a small network to noise: an ordinary training loop, for the cookbook."""
import argparse

import torch
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=2)
epochs = parser.parse_args().epochs

torch.manual_seed(0)
data = TensorDataset(torch.randn(960, 3, 16, 16), torch.randint(10, (960,)))
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(),
    torch.nn.Linear(16 * 16 * 16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(epochs):
    for pictures, labels in DataLoader(data, batch_size=64):
        loss = torch.nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}", flush=True)
