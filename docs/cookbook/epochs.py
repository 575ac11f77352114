# SPDX-License-Identifier: Apache-2.0
"""Trains a small network; each epoch ends with a validation whose measure is a dear one."""
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 16))
optimizer = torch.optim.Adam(model.parameters())


def train_batch(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()


def validate_batch(x, y):
    with torch.no_grad():
        far = torch.cdist(model(x), y)
        return far.sort(dim=1).values[:, 0].mean().item()


for epoch in range(3):
    for _ in range(10):
        train_batch(torch.randn(512, 64), torch.randn(512, 16))
    nearest = [validate_batch(torch.randn(512, 64), torch.randn(512, 16)) for _ in range(5)]
    print(f"epoch {epoch}: nearest {sum(nearest) / len(nearest):.3f}")
