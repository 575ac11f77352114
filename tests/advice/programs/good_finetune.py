# SPDX-License-Identifier: Apache-2.0
"""The body of a pretrained model is frozen and a new head is trained on top of it."""
import torch
from torch import nn
from torch.utils.data import DataLoader
import zoo


def main():
    torch.manual_seed(0)
    body = zoo.small_cnn(classes=512)
    for parameter in body.parameters():
        parameter.requires_grad_(False)
    body.eval()
    model = nn.Sequential(body, nn.ReLU(), nn.Linear(512, 10))
    optimizer = torch.optim.AdamW(model[-1].parameters(), lr=1e-3)
    for images, labels in DataLoader(zoo.Images(96 * 14), batch_size=96, shuffle=True):
        zoo.train_step(model, optimizer, images, labels)


if __name__ == "__main__":
    main()
