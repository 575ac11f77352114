# SPDX-License-Identifier: Apache-2.0
"""Texts of any length come in random order, so one step has ten times the work of its neighbour."""
import random

import torch
from torch.utils.data import DataLoader
import zoo


def main():
    torch.manual_seed(0)
    random.seed(3)
    texts = [torch.randint(0, 5000, (random.choice([12, 30, 60, 350]),)) for _ in range(16)]
    model = zoo.Encoder(wide=128)
    optimizer = torch.optim.Adam(model.parameters())
    for text in DataLoader(texts, batch_size=1):
        batch = text.expand(16, -1)
        zoo.train_step(model, optimizer, batch, torch.randint(0, 8, (16,)))


if __name__ == "__main__":
    main()
