#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A window begins in the middle of nested modules, where torch.profiler's own begins, too, if $TRACE is a
path; $OPEN says by what: this thread with the interpreter's lock or without, or another one. It ends
behind them all, or without $TRACE in the middle again."""
import ctypes
import os
import threading

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

OPENS, ENDS = 3, 6      # calls of at()
count, profiler = 0, None
held, free = (getattr(loaded, "proflaunch_step", lambda: None) for loaded in (ctypes.PyDLL(None), ctypes.CDLL(None)))


def elsewhere():
    thread = threading.Thread(target=free)
    thread.start()
    thread.join()


def at():
    global count, profiler
    count += 1
    if count == OPENS:
        {"held": held, "free": free, "elsewhere": elsewhere}[os.environ["OPEN"]]()
        if "TRACE" in os.environ:
            profiler = profile(activities=[ProfilerActivity.CPU], with_stack=True)
            profiler.__enter__()
    elif count == ENDS and not profiler:
        held()


class Block(nn.Module):
    def __init__(self, hook=None):
        super().__init__()
        self.lin, self.act, self.hook = nn.Linear(4, 4), nn.ReLU(), hook

    def forward(self, x):
        x = self.lin(x)
        if self.hook:
            self.hook()
        return self.act(x) * 2


class Star(Block):
    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(Block(), nn.Sequential(Star(at)), Block())
        self.head = nn.Linear(4, 4)

    def forward(self, x):
        return self.head(self.layers(x)).sum()


free()       # from here on nothing else ends a step
net, x, loss = Net(), torch.ones(2, 4), nn.L1Loss()
for _ in range(ENDS):
    loss(net(x), torch.zeros(())).backward()
if profiler:
    profiler.__exit__(None, None, None)
    held()
    profiler.export_chrome_trace(os.environ["TRACE"])
