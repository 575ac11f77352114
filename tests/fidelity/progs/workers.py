# SPDX-License-Identifier: Apache-2.0
# other threads: the pool unpickles tensors in threads of its own; torch.profiler observes one
"""Workers by spawn and forkserver: DataLoaders, a pool that shares tensors."""
import torch
import torch.multiprocessing as mp
from harness import profiled
from torch.utils.data import DataLoader, TensorDataset


def norm(tensor):
    return (tensor * tensor).sum().sqrt().item()


if __name__ == "__main__":
    data = TensorDataset(torch.arange(12.0).view(6, 2))
    with profiled():
        for method in ("spawn", "forkserver"):
            for (x,) in DataLoader(data, batch_size=3, num_workers=1,
                                   multiprocessing_context=method):
                print(method, x.sum().item())
        with mp.get_context("forkserver").Pool(2) as pool:
            print([round(v, 3) for v in pool.map(norm, [torch.ones(3), torch.arange(4.0)])])
