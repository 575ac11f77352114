# SPDX-License-Identifier: Apache-2.0
"""Gradients of four small batches are added up before the optimizer moves."""
import torch
from torch.utils.data import DataLoader
import zoo


def main():
    torch.manual_seed(0)
    model = zoo.small_cnn()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for number, (images, labels) in enumerate(DataLoader(zoo.Images(32 * 4 * 12), batch_size=32)):
        loss = torch.nn.functional.cross_entropy(model(images), labels) / 4
        loss.backward()
        if number % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    main()
