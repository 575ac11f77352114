# SPDX-License-Identifier: Apache-2.0
"""Collectives on gloo between two forked processes: reduce, gather, broadcast, send."""
import multiprocessing
import os
import socket

import torch
import torch.distributed as dist
from harness import profiled


def rank_main(rank, port, results):
    # Debian's torch is built without libuv, and does not go without unless told to.
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), USE_LIBUV="0")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    with profiled(all_threads=True):
        x = torch.full((4,), float(rank + 1))
        dist.all_reduce(x)
        dist.broadcast(x, 1)
        parts = [torch.zeros(4) for _ in range(2)]
        dist.all_gather(parts, x * rank)
        work = dist.all_reduce(parts[1], async_op=True)
        work.wait()
        if rank:
            dist.send(parts[1], 0)
        else:
            dist.recv(parts[0], 1)
        dist.barrier()
    results.put((rank, sum(part.sum().item() for part in parts)))
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    fork = multiprocessing.get_context("fork")
    results = fork.Queue()
    ranks = [fork.Process(target=rank_main, args=(r, port, results)) for r in range(2)]
    for process in ranks:
        process.start()
    print(sorted(results.get(timeout=100) for _ in ranks))  # no rank speaks if it failed
    for process in ranks:
        process.join()
    print([process.exitcode for process in ranks])
