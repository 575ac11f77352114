# SPDX-License-Identifier: Apache-2.0
"""A small convolutional network on images in memory: the ordinary training loop."""
import torch
from torch.utils.data import DataLoader
import zoo


def main():
    torch.manual_seed(0)
    model = zoo.small_cnn()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for images, labels in DataLoader(zoo.Images(64 * 14), batch_size=64, shuffle=True):
        zoo.train_step(model, optimizer, images, labels)


if __name__ == "__main__":
    main()
