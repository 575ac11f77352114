#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Modules of many shapes are called in one window, with torch.profiler's own in it if $TRACE is a
path; the pointers of nn.Module's functions are printed before, in it, and behind it."""
import ctypes
import json
import os
import threading

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

OFFSET = ctypes.c_long.from_address(id(type(lambda: 0)) + 56).value
X = torch.ones(2, 4)


def pointers():
    functions = {nn.Module.__call__, nn.Module._call_impl}
    return sorted((f.__name__, ctypes.c_uint64.from_address(id(f) + OFFSET).value) for f in functions)


class Recursive(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x, n=3):
        return self(x, n=n - 1) if n else self.inner(x)


class Fails(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.ReLU()

    def forward(self, x):
        self.first(x)
        raise KeyError("it is kept")


class Star(nn.Linear):
    def __call__(self, *args, **kwargs):
        return super().__call__(*args, **kwargs)


class Plain(nn.Linear):
    def __call__(self, x):
        return super().__call__(x)


class Hides(nn.Module):
    """Nothing of a program's own may run while we look."""
    def __init__(self):
        super().__init__()
        self.below = nn.Linear(4, 4)

    def __getattribute__(self, name):
        looked.append(name)
        return super().__getattribute__(name)

    def forward(self, x):
        return self.below(x)


class Property(nn.Module):
    asked = []

    def __init__(self):
        super().__init__()
        self.below = nn.Linear(4, 4)

    def __getattr__(self, name):
        self.asked.append(name)
        return super().__getattr__(name)

    def forward(self, x):
        return self.below(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(3))
        self.shared = self.layers[1]
        self.recursive, self.star, self.plain = Recursive(), Star(4, 4), Plain(4, 4)
        self.fails, self.nothing = Fails(), None
        self.hides, self.property = Hides(), Property()
        self.unregistered = [nn.Tanh()]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        x = self.plain(self.star(self.recursive(self.shared(x))))
        try:
            self.fails(x)
        except KeyError as error:
            assert error.args == ("it is kept",)
        return self.unregistered[0](self.property(self.hides(x)))


def work(net, compiled):
    net(X).sum().backward()
    net.layers[0](X)
    list(map(net.star, [X, X]))
    for _ in range(30):     # call sites are specialised
        net(X)
    compiled(X)
    compiled(X)


def main():
    step = getattr(ctypes.CDLL(None), "proflaunch_step", lambda: None)
    net = Net()
    compiled = nn.Sequential(nn.Linear(4, 4), nn.Sigmoid())
    if hasattr(torch, "compile"):
        compiled = torch.compile(compiled, backend="eager")
    path = os.environ.get("TRACE")
    if path:
        compiled(X)     # to compile is Python for a minute, all of it in torch's file
    begin, end = threading.Barrier(2), threading.Barrier(2)

    def in_thread():
        begin.wait()
        Star(4, 4)(net.layers[2](X))
        end.wait()

    thread = threading.Thread(target=in_thread)
    thread.start()
    seen = [pointers()]         # later there are windows in case the program ends early
    step()
    step()
    step()
    seen.append(pointers())
    looked.clear()
    if path:
        with profile(activities=[ProfilerActivity.CPU], with_stack=True) as p:
            work(net, compiled)
            begin.wait()
            end.wait()
        p.export_chrome_trace(path)
    else:
        work(net, compiled)
        begin.wait()
        end.wait()
    names = sorted(set(looked)), sorted(set(Property.asked))
    step()
    seen.append(pointers())
    thread.join()
    child = os.fork()
    if not child:
        os._exit(0 if pointers() == seen[0] else 3)
    print(json.dumps({"pointers": seen, "looked": names, "named": [name for name, _ in net.named_modules()],
                      "child": os.waitpid(child, 0)[1]}))


looked = []
if __name__ == "__main__":
    main()
