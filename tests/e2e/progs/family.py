# SPDX-License-Identifier: Apache-2.0
"""family.py KIND - programs of several processes; each prints what it came to."""
import multiprocessing
import os
import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 96

    def __getitem__(self, index):
        return torch.full((4,), float(index)).square().sum().sqrt().view(1)


def train(seed, data=None, updates=8):
    torch.manual_seed(seed)
    model = torch.nn.Linear(1, 1)
    sgd = torch.optim.SGD(model.parameters(), lr=1e-6)
    total = 0.0
    for x in data or torch.ones(updates, 4, 1):
        sgd.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        sgd.step()
        total += loss.item()
    return round(total, 3)


def loader(method):
    context = None if method == "fork" else method
    print(train(0, DataLoader(Squares(), batch_size=4, num_workers=2,
                              multiprocessing_context=context)))


def ranks(method):
    with multiprocessing.get_context(method).Pool(3) as pool:
        print(pool.map(train, range(3), chunksize=1))


if __name__ == "__main__":
    kind, method = sys.argv[1:3]
    globals()[kind](method)
    print(os.path.basename(sys.argv[0]), kind, method)
