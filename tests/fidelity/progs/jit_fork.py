# SPDX-License-Identifier: Apache-2.0
# other inputs: aten::.*: torch keeps a list and prints what it holds at the end, we at the call
# unordered memory: a pool thread frees when the state of torch.profiler has left it
"""jit.fork and wait: operators on the inter-op pool's threads.

torch.profiler follows a fork by its thread-local state; what runs where is up to the
pool, so nothing but the total is printed.
"""
import os
import time
import warnings

import torch
from harness import profiled
from typing import List

warnings.simplefilter("ignore")


@torch.jit.script
def piece(x, n: int):
    for i in range(n):
        x = torch.tanh(x) + i
    return x.sum()


@torch.jit.script
def spread(x):
    futures: List[torch.jit.Future[torch.Tensor]] = []
    for i in range(6):
        futures.append(torch.jit.fork(piece, x * i, 4))
    total = torch.zeros(1)
    for future in futures:
        total = total + torch.jit.wait(future)
    return total


def pool_sleeps():
    """Whether every other thread waits."""
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/stat") as stat:
            if int(thread) != os.getpid() and stat.read().rsplit(")", 1)[1].split()[0] != "S":
                return False
    return True


with profiled():
    for step in range(3):
        print(round(spread(torch.ones(5)).item(), 3))
    # A result is there before the pool's thread has left the function that made it. The
    # older profiler loses such a function, and Python may crash if it ends just then.
    while not pool_sleeps():
        time.sleep(0.001)
