# SPDX-License-Identifier: Apache-2.0
"""gloo_ranks.py MEETING RANK SIZE SLOW [FOLDER] - one rank of a program that computes and exchanges.

Rank SLOW computes four times as long as the others; -1: none does. With FOLDER torch.profiler writes its own file there.
"""
import os
import sys

import torch
import torch.distributed as dist

meeting, rank, size, slow = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])


def train(step):
    weight, optimizer = torch.randn(160, 160, requires_grad=True), None
    optimizer = torch.optim.SGD([weight], lr=0.01)
    for _ in range(6):
        loss = torch.zeros(())
        for _ in range(40 if rank == slow else 10):
            loss = loss + (torch.randn(160, 160) @ weight).relu().sum()
        loss.backward()
        dist.all_reduce(weight.grad)
        dist.all_reduce(torch.ones(1000))
        dist.broadcast(torch.ones(7), src=0)
        optimizer.step()
        step()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=size)
    if len(sys.argv) > 5:
        from torch.profiler import ProfilerActivity, profile, schedule
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True,
                     schedule=schedule(wait=1, warmup=1, active=4, repeat=1)) as prof:
            train(prof.step)
        prof.export_chrome_trace(os.path.join(sys.argv[5], f"rank{rank}.pt.trace.json"))
    else:
        train(lambda: None)
    dist.barrier()


main()
