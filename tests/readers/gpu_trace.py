# SPDX-License-Identifier: Apache-2.0
"""A trace with a GPU, in whole nanoseconds, and sums over its intervals.

What the checks beside this file need to come to the readers' numbers on their own: all
by sweeping over the points where something begins or ends, none by the readers' code.
"""
import collections
import gzip
import json
import re

WORK = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver", "Runtime", "runtime")
COLLECTIVES = {f"{lib}:{name}" for lib in ("nccl", "gloo")
               for name in ("broadcast", "reduce", "all_reduce", "all_gather", "reduce_scatter")}


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file)


class Slice:
    def __init__(self, raw):
        self.name, self.cat, self.pid, self.tid = raw["name"], raw["cat"], raw["pid"], raw["tid"]
        self.begin = round(raw["ts"] * 1000)
        self.end = self.begin + round(raw["dur"] * 1000)
        self.args = raw.get("args", {})
        self.external = self.args.get("External id")
        self.correlation = self.args.get("correlation")

    @property
    def length(self):
        return self.end - self.begin

    def holds(self, other):
        return self.begin <= other.begin and other.end <= self.end


class Trace:
    def __init__(self, path):
        self.raw = load(path)
        self.slices = [Slice(e) for e in self.raw["traceEvents"]
                       if e["ph"] == "X" and e.get("cat") != "Trace"]
        self.slices.sort(key=lambda s: (s.begin, -s.end))
        self.kinds = collections.defaultdict(list)
        for one in self.slices:
            self.kinds[one.cat].append(one)
        self.work = [s for s in self.slices if s.cat in WORK]
        self.calls = [s for s in self.slices if s.cat in CALLS]
        self.by_correlation = {s.correlation: s for s in self.calls}
        self.steps = [s for s in self.slices if s.name.startswith("ProfilerStep#")
                      and s.cat in ("user_annotation", "cpu_op")]
        self.tb043 = any(s.cat.lower() == "runtime" for s in self.slices)

    def operators(self):
        return {s.external: s for s in self.kinds["cpu_op"] + self.kinds["user_annotation"]}


def sweep(layers, low=None, high=None):
    """Yields (begin, end, {layer: how many are open}); layers: {name: [(begin, end)]}."""
    edges = collections.defaultdict(list)
    for name, intervals in layers.items():
        for begin, end in intervals:
            if begin < end:
                edges[begin].append((name, 1))
                edges[end].append((name, -1))
    for bound in (low, high):
        if bound is not None:
            edges.setdefault(bound, [])
    is_open, last = collections.Counter(), None
    for at in sorted(edges):
        inside = (low is None or last is not None and last >= low) and \
            (high is None or at <= high)
        if last is not None and inside:
            yield last, at, is_open
        for name, change in edges[at]:
            is_open[name] += change
        last = at


def spans(slices):
    return [(s.begin, s.end) for s in slices]


def covered(slices, low=None, high=None):
    """Nanoseconds in which at least one of them runs."""
    return sum(b - a for a, b, seen in sweep({"x": spans(slices)}, low, high) if seen["x"] > 0)


def demangled(name):
    """The function's own name: scale(float*, float, int) -> scale."""
    return re.match(r"(?:void )?([\w:]*)", name)[1]
