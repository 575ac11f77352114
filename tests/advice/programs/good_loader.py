# SPDX-License-Identifier: Apache-2.0
"""Samples are slow to read, and there are workers enough to hide it."""
import time

import torch
from torch.utils.data import DataLoader
import zoo


class NetworkImages(zoo.Images):
    def __getitem__(self, index):
        time.sleep(0.0005)
        return super().__getitem__(index)


def main():
    torch.manual_seed(0)
    model = zoo.small_cnn()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(NetworkImages(64 * 16), batch_size=64, num_workers=2, prefetch_factor=4,
                        persistent_workers=True)
    for images, labels in loader:
        zoo.train_step(model, optimizer, images, labels)


if __name__ == "__main__":
    main()
