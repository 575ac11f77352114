# SPDX-License-Identifier: Apache-2.0
"""Pairwise distances are written with broadcasts: each step asks for, fills and returns gigabytes."""
import torch
from torch.profiler import record_function


def distances(a, b):
    difference = a[:, None, :] - b[None, :, :]
    squared = difference * difference
    return squared.sum(-1).sqrt()


def main():
    torch.manual_seed(0)
    points, centres = torch.randn(4000, 16), torch.randn(256, 16)
    for _ in range(14):
        with record_function("iteration"):
            nearest = distances(points, centres).argmin(1)
            onehot = torch.zeros(len(points), 8000)
            onehot[torch.arange(len(points)), nearest] = 1.0
            padded = torch.zeros(len(points), 8000) + onehot
        print(int(padded.sum()))


if __name__ == "__main__":
    main()
