# SPDX-License-Identifier: Apache-2.0
"""The average loss is kept as a tensor, and with it the graph and activations of every step."""
import torch
from torch.utils.data import DataLoader
import zoo


def main():
    torch.manual_seed(0)
    model = zoo.small_cnn()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    total = 0.0
    for step, (images, labels) in enumerate(DataLoader(zoo.Images(32 * 14), batch_size=32)):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        (loss / 1.0).backward(retain_graph=True)
        optimizer.step()
        optimizer.zero_grad()
        total = total + loss
        print(step, float(total) / (step + 1))


if __name__ == "__main__":
    main()
