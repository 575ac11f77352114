#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nanoseconds added per training step while idle, everything side by side in one process.

Run under the agent with a schedule that never leaves `wait`. Its callback for
annotations, which finds the steps, is switched off for the bare loops, which go before
and after each other one; the medians of the differences count. floor: an empty callback
in the same place. What the agent costs by being there, in a process of its own, is
bench.py's affair. Prints one JSON object.
"""
import ctypes
import json
import statistics
import sys

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from beside import alternate
from burst import steps

FLOOR = ctypes.CDLL(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 99
NOTES = 3  # floor.c: annotations


def with_floor(loop):
    FLOOR.floor_set(NOTES, 1)
    cost = loop()
    FLOOR.floor_set(NOTES, 0)
    return cost


def with_us(loop):
    FLOOR.floor_agent(1)
    cost = loop()
    FLOOR.floor_agent(0)
    return cost


def with_torch():
    with profile(activities=[ProfilerActivity.CPU],
                 schedule=schedule(wait=10**9, warmup=1, active=1)) as profiler:
        return steps(profiler)()


def main():
    torch.set_num_threads(1)
    loop = steps(None)
    loop()  # the agent finds torch
    if FLOOR.floor_start():
        sys.exit("no libtorch")
    FLOOR.floor_agent(0)
    bare, added = alternate(loop, {
        "proflaunch": lambda: with_us(loop), "torch.profiler": with_torch,
        "floor": lambda: with_floor(loop)}, ROUNDS)
    print(json.dumps({"bare": bare,
                      **{k: statistics.median(v) for k, v in added.items()}}))


main()
