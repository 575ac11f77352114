# SPDX-License-Identifier: Apache-2.0
"""A classifier whose images are decoded, pixel row by pixel row, in the training process."""
import math

import torch
from torch.utils.data import DataLoader, Dataset
import zoo


class Photos(Dataset):
    def __init__(self, count):
        self.files = [bytes((i * j) % 251 for j in range(3 * 32 * 32)) for i in range(count)]

    def __len__(self):
        return len(self.files)

    def decode(self, data):
        return [math.sqrt(byte / 255.0) - 0.5 for byte in data]

    def __getitem__(self, index):
        pixels = torch.tensor(self.decode(self.files[index]))
        return pixels.view(3, 32, 32), index % 10


def main():
    torch.manual_seed(0)
    model = zoo.small_cnn()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for images, labels in DataLoader(Photos(64 * 14), batch_size=64):
        zoo.train_step(model, optimizer, images, labels)


if __name__ == "__main__":
    main()
