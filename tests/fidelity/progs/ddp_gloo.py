# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel on gloo, two processes; rank 0 speaks."""
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from harness import profiled


def store(port, host):
    # Debian's torch is built without libuv, and does not go without unless told to.
    told = {"use_libuv": False} if "use_libuv" in dist.TCPStore.__init__.__doc__ else {}
    return dist.TCPStore("127.0.0.1", port, 2, host, wait_for_workers=False, **told)


def train(rank, port, peers):
    dist.init_process_group("gloo", store=store(port, False), rank=rank, world_size=2)
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    with profiled(all_threads=True):
        for step in range(3):
            loss = model(torch.randn(4, 4)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if rank == 0:
                print(round(loss.item(), 4), flush=True)
        dist.barrier()
    # Who leaves while the other still reads from it aborts it: gloo throws in a thread.
    peers.wait()
    dist.destroy_process_group()
    peers.wait()
    # A thread of gloo may still hold the barrier's work, whose end takes the interpreter's lock:
    # it aborts the process if the interpreter is being taken down (pytorch/pytorch#179291).
    os._exit(0)


if __name__ == "__main__":
    # The store is this process's, which leaves last.
    home = store(0, True)
    mp.spawn(train, args=(home.port, mp.get_context("spawn").Barrier(2)), nprocs=2)
