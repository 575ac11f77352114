# SPDX-License-Identifier: Apache-2.0
"""torch_launch.py LIBRARY N ROUNDS [--profiler] - ns per launch of an empty kernel.

The launches are C's (work.c as a library), in a process that has torch, so that
torch.profiler and proflaunch can be compared on the same work.  With --profiler rounds 3
to 5 run in it, switched on and off outside of what is timed; under proflaunch each round is
a step.  Prints {"rounds": [ns, ...]}.
"""
import argparse
import ctypes
import json
import time

import torch
from torch.profiler import ProfilerActivity, profile

parser = argparse.ArgumentParser()
parser.add_argument("library")
parser.add_argument("launches", type=int)
parser.add_argument("rounds", type=int)
parser.add_argument("--profiler", action="store_true")
args = parser.parse_args()

gpu = torch.cuda.is_available()
if gpu:
    torch.ones(8, device="cuda").sum().item()
work = ctypes.CDLL(args.library)
work.work_round.restype = ctypes.c_double
work.work_round(ctypes.c_int(100))
times, profiler = [], None
for number in range(args.rounds):
    if args.profiler and number == 3:
        # Without a GPU only this script is tried.
        profiler = profile(activities=[ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * gpu)
        profiler.start()
        work.work_round(ctypes.c_int(100))
    if profiler and number == 6:
        profiler.stop()
        profiler = None
    time.sleep(0.1)
    times.append(work.work_round(ctypes.c_int(args.launches)))
    time.sleep(0.1)
    work.work_mark()
print(json.dumps({"rounds": times}))
