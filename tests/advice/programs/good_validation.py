# SPDX-License-Identifier: Apache-2.0
"""A validation pass and a printed loss every ten steps, as most training loops have it."""
import torch
from torch.utils.data import DataLoader
import zoo


@torch.no_grad()
def validate(model, images):
    model.eval()
    right = sum(int((model(x).argmax(1) == y).sum()) for x, y in images)
    model.train()
    return right


def main():
    torch.manual_seed(0)
    model = zoo.small_cnn()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    held_out = list(DataLoader(zoo.Images(128), batch_size=64))
    for step, (images, labels) in enumerate(DataLoader(zoo.Images(64 * 14), batch_size=64)):
        loss = zoo.train_step(model, optimizer, images, labels)
        if step % 10 == 0:
            print(step, float(loss), validate(model, held_out))


if __name__ == "__main__":
    main()
