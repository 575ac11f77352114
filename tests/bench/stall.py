#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the step that ends a window of 200,000 operators costs the program.

Under the agent (schedule wait=1,active=1): the seal is one proflaunch_step() call, and
the operators right after it are timed one by one. Without it: torch.profiler with the
TensorBoard handler. Prints one JSON object.
"""
import ctypes
import json
import statistics
import sys
import tempfile
import time

import torch

MODE, WHO = sys.argv[1], sys.argv[2]
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 9
OPS = 200_000
torch.set_num_threads(1)
x, y = torch.ones(1), torch.ones(1)


def burst(count):
    """Runs operators one by one; returns the longest."""
    add, now, worst = x.add_, time.perf_counter_ns, 0
    last = now()
    for _ in range(count):
        add(y)
        this = now()
        worst = max(worst, this - last)
        last = this
    return worst


def ours():
    step = ctypes.CDLL(None).proflaunch_step
    step()
    inside = burst(OPS)
    begin = time.perf_counter_ns()
    step()
    seal = time.perf_counter_ns() - begin
    after = burst(20000)
    time.sleep(0.4)
    return seal, inside, after


def theirs():
    from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler
    with tempfile.TemporaryDirectory() as d:
        options = {"record_shapes": True} if MODE == "shapes" else {}
        with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=0, active=1, repeat=1),
                     on_trace_ready=tensorboard_trace_handler(d), **options) as p:
            inside = burst(OPS)
            begin = time.perf_counter_ns()
            p.step()
            seal = time.perf_counter_ns() - begin
            after = burst(20000)
    return seal, inside, after


def bare():
    inside = burst(OPS)
    return 0, inside, burst(20000)


run = {"proflaunch": ours, "torch.profiler": theirs, "bare": bare}[WHO]
burst(20000)
rows = [run() for _ in range(ROUNDS)]
print(json.dumps({"who": WHO, "mode": MODE, "seal_us_median": round(statistics.median(r[0] for r in rows) / 1e3, 1),
                  "seal_us_worst": round(max(r[0] for r in rows) / 1e3, 1),
                  "worst_op_in_window_us": round(max(r[1] for r in rows) / 1e3, 1),
                  "worst_op_after_us": round(max(r[2] for r in rows) / 1e3, 1)}))
