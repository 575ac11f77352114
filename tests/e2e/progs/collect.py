# SPDX-License-Identifier: Apache-2.0
"""Additions, and multiplications while collection of CPU activities is
switched off. Says what torch's own profiler saw of them."""
import ctypes
import sys

import torch
from torch.profiler import ProfilerActivity, profile

HOW = sys.argv[1]
x = torch.ones(4)



def ours():
    collect = getattr(ctypes.CDLL(None), "proflaunch_collect", lambda what, on: None)
    for number in range(4):
        if number == 1:
            collect(1, 0)
        if number == 3:
            collect(1, 1)
        x.mul_(2.0) if number in (1, 2) else x.add_(float(number))


def torchs():
    with profile(activities=[ProfilerActivity.CPU]) as p:
        for number in range(4):
            if number == 1:
                p.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
            if number == 3:
                p.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
            x.mul_(2.0) if number in (1, 2) else x.add_(float(number))
    print(sorted(e.key for e in p.key_averages() if e.key in ("aten::add_", "aten::mul_")))


def neither():
    x.add_(1.0).mul_(2.0).add_(1.0)


{"ours": ours, "torch": torchs, "neither": neither}[HOW]()
print(x.tolist())
