# SPDX-License-Identifier: Apache-2.0
"""Models and data that several programs of the advice bench train, of sizes that keep two cores busy."""
import torch
from torch import nn
from torch.utils.data import Dataset


def small_cnn(classes=10):
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 8 * 8, classes))


def mlp(wide=1024, deep=3, inputs=256, outputs=10):
    layers = [nn.Linear(inputs, wide), nn.ReLU()]
    for _ in range(deep):
        layers += [nn.Linear(wide, wide), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(wide, outputs))


class Encoder(nn.Module):
    """A small transformer that classifies sequences of tokens."""

    def __init__(self, words=5000, wide=192, heads=4, layers=2, classes=8):
        super().__init__()
        self.embedding = nn.Embedding(words, wide)
        layer = nn.TransformerEncoderLayer(wide, heads, 4 * wide, dropout=0.0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(wide, classes)

    def forward(self, tokens):
        return self.head(self.body(self.embedding(tokens)).mean(1))


class Images(Dataset):
    """Images that are in memory already: reading one costs next to nothing."""

    def __init__(self, count=1024):
        self.pixels = torch.randn(count, 3, 32, 32)
        self.labels = torch.randint(0, 10, (count,))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.pixels[index], self.labels[index]


def train_step(model, optimizer, inputs, targets):
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
    return loss
