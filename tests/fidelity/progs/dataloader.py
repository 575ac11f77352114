# SPDX-License-Identifier: Apache-2.0
"""A DataLoader with two workers; their own operators are in files of their own."""
import torch
from harness import profiled
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        return torch.full((4,), float(index)) ** 2, index % 3


if __name__ == "__main__":
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    with profiled():
        for x, y in DataLoader(Squares(), batch_size=8, num_workers=2):
            loss = torch.nn.functional.cross_entropy(model(x / 100), y)
            loss.backward()
            print(round(loss.item(), 4))
