#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small training loop with a DataLoader; prints the median nanoseconds of a step.

With --profiler the loop has torch.profiler with a schedule that never leaves `wait`.
"""
import contextlib
import statistics
import sys
import time

import torch

torch.set_num_threads(1)
data = torch.utils.data.DataLoader(torch.ones(3000, 1), batch_size=1)
weight = torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([weight], lr=1e-9)
weight.grad = torch.ones(1)
profiler = contextlib.nullcontext()
if "--profiler" in sys.argv:
    from torch.profiler import ProfilerActivity, profile, schedule
    profiler = profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=10**9, warmup=0, active=1))
times = []
with profiler as p:
    last = time.perf_counter_ns()
    for _ in data:
        optimizer.step()
        if p is not None:
            p.step()
        this = time.perf_counter_ns()
        times.append(this - last)
        last = this
print(statistics.median(times[500:]))
