#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""burst.py step|op [--window]

Work in short bursts, one for each line on stdin; prints what a unit took in nanoseconds.

step      a training step with a DataLoader, the median of a burst's
op        one operator
--window  under the agent (schedule wait=1,active=1): all of it in one window, whose
          file is not waited for
"""
import ctypes
import itertools
import os
import statistics
import sys
import time

import torch

from beside import serve

STEPS, OPS = 200, 4000
torch.set_num_threads(1)
x, y = torch.ones(1), torch.ones(1)


class Data(torch.utils.data.Dataset):
    """As many samples as one likes."""

    def __len__(self):
        return 10**9

    def __getitem__(self, at):
        return y


def steps(profiler):
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=1e-9)
    weight.grad = torch.ones(1)
    data = iter(torch.utils.data.DataLoader(Data(), batch_size=1, sampler=itertools.count()))

    def burst():
        times = []
        last = time.perf_counter_ns()
        for _ in range(STEPS):
            next(data)
            optimizer.step()
            if profiler:
                profiler.step()
            this = time.perf_counter_ns()
            times.append(this - last)
            last = this
        return statistics.median(times)
    return burst


def ops():
    add = x.add_
    begin = time.perf_counter_ns()
    for _ in range(OPS):
        add(y)
    return (time.perf_counter_ns() - begin) / OPS


def main():
    if "--window" in sys.argv:
        ctypes.CDLL(None).proflaunch_step()
    serve(steps(None) if sys.argv[1] == "step" else ops)
    if "--window" in sys.argv:
        os._exit(0)


if __name__ == "__main__":
    main()
