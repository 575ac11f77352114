#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nanoseconds added per operator, everything side by side in one process.

Run under the agent with the schedule wait=1,active=1 and the marker none of torch's:
this program makes the steps itself through proflaunch_step. Rounds go
bare, proflaunch, torch.profiler, floor, ... and the medians of the differences to the
two bare loops around each count. A loop lasts a few milliseconds only, and there are
many: what else the machine does comes and goes by the tenth of a second.
Prints one JSON object.
"""
import ctypes
import json
import statistics
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

from burst import ops as loop

MODE = sys.argv[1]  # plain | shapes | memory
FLOOR = ctypes.CDLL(sys.argv[2])
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 99
STEP = getattr(ctypes.CDLL(None), "proflaunch_step")


def with_floor(which):
    FLOOR.floor_set(which, 1)
    cost = loop()
    FLOOR.floor_set(which, 0)
    return cost


def with_torch():
    options = {"shapes": {"record_shapes": True},
               "memory": {"record_shapes": True, "profile_memory": True}}.get(MODE, {})
    with profile(activities=[ProfilerActivity.CPU], **options):
        return loop()


def with_us():
    STEP()  # wait ends: the window opens
    cost = loop()
    STEP()  # and is sealed
    time.sleep(0.1)  # the writer's own work is measured elsewhere
    return cost


def main():
    if FLOOR.floor_start():
        sys.exit("no libtorch")
    floors = (0, 1) if MODE == "plain" else (2,)
    loop()
    STEP()
    torch.zeros([2, 2]).sum([0])  # what the agent wants to see once before it is settled
    STEP()
    added = {"proflaunch": [], "torch.profiler": [], **{f"floor{f}": [] for f in floors}}
    bare = []
    for _ in range(ROUNDS):
        for name, run in [("proflaunch", with_us), ("torch.profiler", with_torch),
                          *[(f"floor{f}", lambda f=f: with_floor(f)) for f in floors]]:
            before = loop()
            cost = run()
            loop()  # after a sleep, and after a profiler's work, all is cold
            base = (before + loop()) / 2
            bare.append(base)
            added[name].append(cost - base)
    print(json.dumps({"mode": MODE, "bare": round(statistics.median(bare), 1),
                      **{k: round(statistics.median(v), 1) for k, v in added.items()}}))


if __name__ == "__main__":
    main()
