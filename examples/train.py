# SPDX-License-Identifier: Apache-2.0
"""Teach a small convolutional network to tell striped pictures apart.

    python3 examples/train.py [--epochs 3] [--workers 2]

An ordinary training script: it knows nothing of profilers.
"""
import argparse
import math

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Stripes(Dataset):
    """Noisy pictures of stripes; the class is the direction they run in."""

    def __init__(self, size, seed):
        self.size, self.seed = size, seed
        axis = torch.linspace(-math.pi, math.pi, 32)
        self.y, self.x = axis.view(-1, 1), axis.view(1, -1)

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        noise = torch.Generator().manual_seed(self.seed * 1_000_003 + index)
        label = index % 8
        angle = label * math.pi / 8
        phase = torch.rand(1, generator=noise) * 2 * math.pi
        waves = torch.sin(4 * (self.x * math.cos(angle) + self.y * math.sin(angle)) + phase)
        picture = waves + 4 * torch.randn(3, 32, 32, generator=noise)
        return picture, label


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.norm1 = torch.nn.BatchNorm2d(16)
        self.conv2 = torch.nn.Conv2d(16, 32, 3, padding=1)
        self.norm2 = torch.nn.BatchNorm2d(32)
        self.head = torch.nn.Linear(32 * 8 * 8, 8)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        return self.head(x.flatten(1))


def train(model, loader, optimizer):
    model.train()
    total = 0.0
    for pictures, labels in loader:
        loss = F.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    total, right, seen = 0.0, 0, 0
    for pictures, labels in loader:
        scores = model(pictures)
        total += F.cross_entropy(scores, labels).item()
        right += (scores.argmax(1) == labels).sum().item()
        seen += len(labels)
    return total / len(loader), right / seen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()

    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.002, momentum=0.9)
    learn = DataLoader(Stripes(4096, seed=1), args.batch, shuffle=True,
                       num_workers=args.workers)
    check = DataLoader(Stripes(512, seed=2), args.batch, num_workers=args.workers)
    for epoch in range(args.epochs):
        loss = train(model, learn, optimizer)
        held_out, accuracy = validate(model, check)
        print(f"epoch {epoch}: loss {loss:.4f}, validation {held_out:.4f}, "
              f"accuracy {accuracy:.1%}", flush=True)


if __name__ == "__main__":
    main()
