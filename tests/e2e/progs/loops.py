# SPDX-License-Identifier: Apache-2.0
"""loops.py KIND [N] - training loops of the usual kinds, N updates each; prints losses."""
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
kind, updates = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 8
model, other = torch.nn.Linear(4, 2), torch.nn.Linear(2, 4)
if kind not in ("infer", "nothing"):
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    adam = torch.optim.Adam(other.parameters(), lr=0.1)


def loader(batches):
    return DataLoader(TensorDataset(torch.randn(2 * batches, 4)), batch_size=2)


def loss_of(x):
    return model(x).square().mean()


def plain():
    """A DataLoader, one optimizer."""
    for (x,) in loader(updates):
        sgd.zero_grad()
        loss = loss_of(x)
        loss.backward()
        sgd.step()
        print(round(loss.item(), 4))


def two():
    """A GAN's shape: two optimizers in one turn of the loader."""
    for (x,) in loader(updates):
        sgd.zero_grad()
        loss_of(x).backward()
        sgd.step()
        adam.zero_grad()
        loss = (other(model(x).detach()) - x).square().mean()
        loss.backward()
        adam.step()
        print(round(loss.item(), 4))


def accumulate():
    """Three micro-batches to an update."""
    for index, (x,) in enumerate(loader(3 * updates)):
        loss = loss_of(x) / 3
        loss.backward()
        if index % 3 == 2:
            sgd.step()
            sgd.zero_grad()
            print(round(loss.item(), 4))


def patient():
    """A hundred backward passes to an update, and no DataLoader."""
    for _ in range(updates):
        for _ in range(100):
            loss = loss_of(torch.ones(2, 4)) / 100
            loss.backward()
        sgd.step()
        sgd.zero_grad()
        print(round(loss.item(), 4))


def patient_loader():
    """A hundred micro-batches to an update."""
    for index, (x,) in enumerate(loader(100 * updates)):
        loss = loss_of(x) / 100
        loss.backward()
        if index % 100 == 99:
            sgd.step()
            sgd.zero_grad()
            print(round(loss.item(), 4))


def compiled():
    """A compiled step shows no mark; two backward passes to each."""
    step = torch.compile(sgd.step, backend="eager")
    for _ in range(updates):
        sgd.zero_grad()
        for _ in range(2):
            loss = loss_of(torch.ones(2, 4)) / 2
            loss.backward()
        step()
        print(round(loss.item(), 4))


def validated():
    """Epochs of four updates, each with a validation pass of three batches."""
    for epoch in range(updates // 4):
        for (x,) in loader(4):
            sgd.zero_grad()
            loss = loss_of(x)
            loss.backward()
            sgd.step()
        with torch.no_grad():
            print(round(sum(loss_of(x).item() for (x,) in loader(3)), 4))


def bare():
    """No DataLoader."""
    for index in range(updates):
        sgd.zero_grad()
        loss = loss_of(torch.ones(2, 4))
        loss.backward()
        sgd.step()
        print(round(loss.item(), 4))


def infer():
    """No optimizer: a loader and a model."""
    with torch.no_grad():
        for (x,) in loader(updates):
            print(round(loss_of(x).item(), 4))


def nothing():
    """Operators and no step of any kind."""
    x = torch.ones(4)
    for index in range(updates):
        x = torch.tanh(x)
    print(round(x.sum().item(), 4))


globals()[kind]()
