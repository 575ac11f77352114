# SPDX-License-Identifier: Apache-2.0
"""Accuracy is counted sample by sample, with .item() on each prediction."""
import torch
from torch.utils.data import DataLoader, TensorDataset
import zoo


def accuracy(scores, labels):
    right = 0
    for score, label in zip(scores, labels):
        if score.argmax().item() == label.item():
            right += 1
    return right / len(labels)


def main():
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(1024 * 14, 256), torch.randint(0, 10, (1024 * 14,)))
    model = zoo.mlp(wide=128, deep=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, (inputs, labels) in enumerate(DataLoader(data, batch_size=None, sampler=[
            list(range(1024 * i, 1024 * (i + 1))) for i in range(14)])):
        scores = model(inputs)
        loss = torch.nn.functional.cross_entropy(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item(), accuracy(scores, labels))


if __name__ == "__main__":
    main()
