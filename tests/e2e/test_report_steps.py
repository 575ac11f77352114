#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""Steps, their eight shares and GPU figures of a trace: as TensorBoard's plugin has them.

Everything that the plugin is not asked, or is asked otherwise, is in plugin_steps.py.
"""
import json
import os
import random
import sys

import cuda
import prof

VENV = os.path.join(prof.BUILD, "venv", "bin", "python")
PLUGIN = os.path.join(prof.HERE, "plugin_steps.py")
GOLDEN = os.path.join(prof.HERE, "..", "golden")
SHARES = ("Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader", "CPU Exec",
          "Other")

TRAIN = """
import sys, torch
from torch.utils.data import DataLoader, TensorDataset
from torch.profiler import profile, schedule, ProfilerActivity
data = DataLoader(TensorDataset(torch.randn(80, 64), torch.randn(80, 8)), batch_size=8)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def train(step):
    for x, y in data:
        with torch.profiler.record_function("forward"):
            loss = (model(x) - y).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step()

if len(sys.argv) > 1:
    with profile(activities=[ProfilerActivity.CPU], 
                 schedule=schedule(wait=1, warmup=1, active=5, repeat=1),
                 on_trace_ready=lambda p: p.export_chrome_trace(sys.argv[1])) as p:
        train(p.step)
else:
    train(lambda: None)
"""


# ---- comparing -----------------------------------------------------------------------

def ours_of(path):
    answer = prof.plain([prof.prog("report_figures"), path])
    assert answer.returncode == 0, (path, answer.returncode, answer.stderr)
    return json.loads(answer.stdout)


def plugin_of(paths):
    if not os.path.exists(VENV):
        raise prof.Skip("no plugin in the test environment")
    answer = prof.plain([VENV, PLUGIN, *paths])
    assert answer.returncode == 0, answer.stderr[-3000:]
    return json.loads(answer.stdout)


def near(what, theirs, ours, slack=1e-9):
    if theirs is None:
        assert ours < 0, f"{what}: the plugin cannot say, ours {ours}"
    else:
        assert abs(theirs - ours) <= slack * max(1.0, abs(theirs)), \
            f"{what}: the plugin {theirs}, ours {ours}"


def compare(path, theirs, slack):
    """`slack`: of a time in us; the plugin adds and takes off doubles."""
    ours = ours_of(path)
    numbers = [step["number"] for step in ours["steps"]]
    assert numbers == [step["number"] for step in theirs["steps"]], (path, numbers, theirs["steps"])
    assert bool(ours["gpu"]) == theirs["gpu"] and \
        bool(ours["communication"]) == theirs["communication"], (path, ours, theirs)
    for mine, step in zip(ours["steps"], theirs["steps"]):
        where = f"{path}, step {mine['number']}"
        near(f"{where}, length", step["length"], (mine["end"] - mine["begin"]) / 1000, slack)
        assert sum(mine[share] for share in SHARES) == mine["end"] - mine["begin"], (where, mine)
        for share in SHARES:
            near(f"{where}, {share}", step[share], mine[share] / 1000, slack)
    for share in SHARES:
        near(f"{path}, mean {share}", theirs["means"][share], ours["means"][share] / 1000, slack)
    # Devices without a kernel are none to the plugin.
    devices = {d["id"]: d for d in ours["devices"]}
    for device in theirs["devices"]:
        mine = devices[device["id"]]
        where = f"{path}, GPU {device['id']}"
        for key, scale in ("utilization", 1), ("sm_efficiency", 1), ("occupancy", 100):
            near(f"{where}, {key}", device[key], mine[key] * scale, max(slack, 1e-9))
    known = {d["id"] for d in theirs["devices"]}
    assert all(not d["kernels"] for d in ours["devices"] if d["id"] not in known), (path, ours)
    return ours


# Times that torch and we write are no binary fractions: sums of doubles are off by a little.
def compare_all(paths, slack=1e-6):
    return [compare(path, theirs, slack) for path, theirs in zip(paths, plugin_of(paths))]


# ---- recorded traces -----------------------------------------------------------------

def test_torch_trace_with_a_data_loader():
    with prof.folder() as folder:
        path = os.path.join(folder, "t.json")
        answer = prof.plain([VENV, "-c", TRAIN, path])
        assert answer.returncode == 0, answer.stderr[-2000:]
        ours, = compare_all([path])
        assert len(ours["steps"]) == 5 and ours["means"]["DataLoader"] > 0, ours
        assert not ours["gpu"] and ours["marked"], ours


def both_dialects(folder, command, **given):
    """Our traces of a program in both, compared by one run of the plugin."""
    paths = [prof.launch(command, os.path.join(folder, dialect), dialect=dialect, **given).only().path
             for dialect in ("kineto", "tb043")]
    return compare_all(paths)


def test_our_traces_of_the_same_program():
    with prof.folder() as folder:
        for ours in both_dialects(folder, [VENV, "-c", TRAIN], schedule="wait=1,warmup=1,active=5,repeat=1"):
            assert len(ours["steps"]) == 5 and ours["means"]["DataLoader"] > 0, ours
            assert ours["means"]["CPU Exec"] > 0, ours


def test_our_traces_without_steps():
    with prof.folder() as folder:
        for ours in both_dialects(folder, [VENV, "-c", TRAIN], marker="none"):
            assert len(ours["steps"]) == 1 and not ours["marked"], ours


def test_our_traces_of_a_gpu():
    command = [VENV, os.path.join(prof.HERE, "progs", "cuda_train.py"), cuda.extension("13.0"), "--steps", "8",
               "--what", "nccl,graph,scratch,tail,devices"]
    with prof.folder() as folder:
        for ours in both_dialects(
                folder, command, marker="torch:Optimizer.step*", schedule="wait=1,warmup=1,active=4,repeat=1",
                env=cuda.environment("13.0", DEVICES=2, KERNELS="*nccl*=83000,*gemm*=61000,*longest*=3000000")):
            assert ours["gpu"] and ours["communication"] and len(ours["devices"]) == 2, ours
            for share in "Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader":
                assert ours["means"][share] > 0, (share, ours)


def test_golden_files():
    first, second = compare_all([os.path.join(GOLDEN, f"one_of_each_gpu.{dialect}.json")
                                 for dialect in ("kineto", "tb043")])
    assert first == second


# ---- invented traces -----------------------------------------------------------------

class Invented:
    """A trace by chance. Times are eighths of a us: exact as doubles, and ns are whole."""

    OPS = ("aten::mm", "aten::add", "autograd::engine", "gloo:broadcast", "gloo:all_gather",
           "nccl:all_reduce", "nccl:_all_gather_base", "nccl:reduce", "record_param_comms",
           "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
           "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__init__",
           "enumerate(DataPipe)#X", "Optimizer.step#SGD.step")
    KERNELS = ("gemm", "void elementwise<4>(int)", "ncclDevKernel_AllReduce(x)",
               "ncclKernel_Broadcast", "relu")

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.gpu = self.chance.random() < 0.85
        self.tb043 = self.chance.random() < 0.4
        self.threads = self.chance.randint(1, 4)
        self.events, self.at, self.number, self.correlation = [], self.eighths(50, 500), 0, 0
        self.dense = self.chance.random() < 0.2
        self.make()

    def eighths(self, low, high):
        return self.chance.randint(8 * low, 8 * high) / 8

    def add(self, cat, name, pid, tid, ts, dur, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts,
                            "dur": dur, "args": {key.replace("_", " "): value
                                                 for key, value in args.items()}})

    def spelled(self, kineto, tb043):
        return tb043 if self.tb043 else kineto

    def operator(self, tid, begin, end, depth=0):
        """An operator with others and calls inside."""
        self.number += 1
        number, name = self.number, self.chance.choice(self.OPS)
        note = self.chance.random() < 0.3
        self.add(self.spelled("user_annotation" if note else "cpu_op", "Operator"), name, 1, tid,
                 begin, end - begin, **{"External id": number})
        at = begin
        while depth < 3 and at < end and self.chance.random() < 0.7:
            at = min(end, at + self.eighths(0, 20))
            inner = min(end, at + self.eighths(0, 40))
            if self.gpu and self.chance.random() < 0.5:
                self.call(tid, at, inner, number)
            elif inner > at:
                self.operator(tid, at, inner, depth + 1)
            at = inner

    def call(self, tid, begin, end, number):
        self.correlation += 1
        cat = self.spelled("cuda_driver" if self.chance.random() < 0.2 else "cuda_runtime", "Runtime")
        self.add(cat, "cudaLaunchKernel", 1, tid, begin, end - begin,
                 **{"External id": number, "correlation": self.correlation})
        for _ in range(self.chance.choice((0, 1, 1, 1, 3))):
            self.work(self.eighths(0, 60) + begin, number, self.correlation)

    def work(self, ts, number, correlation):
        device, stream = self.chance.randint(0, 1), self.chance.choice((7, 20, 21))
        kind = self.chance.choice(("kernel", "kernel", "kernel", "memcpy", "memset"))
        args = {"External id": number, "correlation": correlation, "device": device,
                "stream": stream}
        if kind == "kernel":
            name = self.chance.choice(self.KERNELS)
            if self.chance.random() < 0.9:
                args["blocks per SM"] = self.chance.choice((0, 0.01, 0.25, 0.4, 1, 7.5))
            if self.chance.random() < 0.9:
                args["est. achieved occupancy %"] = self.chance.choice((0, 3, 50, 100))
        else:
            name, kind = kind, self.spelled("gpu_" + kind, kind.capitalize())
        self.add(self.spelled(kind, kind.capitalize() if kind == "kernel" else kind), name, device,
                 stream, ts, self.eighths(0, 90 if self.dense else 30), **args)
        if name.startswith("nccl") and self.chance.random() < 0.5:
            self.add("gpu_user_annotation", "nccl:all_reduce", device, stream, ts, 40,
                     **{"External id": number})

    def fill(self, tid, begin, end):
        at = begin
        while at < end:
            at += 0 if self.dense else self.eighths(0, 30)
            self.operator(tid, at, at + self.eighths(1, 80))
            at = self.events[-1]["ts"] + 30 if self.chance.random() < 0.1 else at + self.eighths(0, 60)

    def make(self):
        steps = self.chance.choice((0, 1, 2, 3, 5, 8))
        begin = self.at
        at = begin + self.chance.choice((0, self.eighths(0, 100)))
        for number in range(steps):
            length = self.eighths(100, 400)
            self.add(self.spelled("user_annotation", "cpu_op"), f"ProfilerStep#{number + 3}", 1, 100,
                     at, length, **{"External id": 100_000 + number})
            at += length + self.chance.choice((0, 0, self.eighths(0, 20)))
        at = max(at, begin + 300)
        for tid in range(self.threads):
            # A last step without its work, as where records were lost.
            self.fill(100 + tid, begin + self.eighths(0, 50),
                      at - self.chance.choice((0, 0, 150, 300)))
        if self.gpu:
            for _ in range(self.chance.choice((0, 0, 3))):
                self.work(begin + self.eighths(0, 200), 0, 900_000 + self.correlation)
        # Without steps the range is that of operators: it must not depend on annotations.
        self.add("cpu_op", "aten::first", 1, 100, begin - 1, 0.5, **{"External id": 99_998})
        self.add("cpu_op", "aten::last", 1, 100,
                 max(e["ts"] + e["dur"] for e in self.events if e["pid"] == 1) + 1, 1,
                 **{"External id": 99_999})

    def write(self, path):
        # The plugin puts events in order of time, and so may not read them in another one.
        self.chance.shuffle(self.events)
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}],
                       "traceEvents": self.events}, file)


def test_invented_traces():
    with prof.folder() as folder:
        paths = [os.path.join(folder, f"{seed}.json") for seed in range(400)]
        for seed, path in enumerate(paths):
            Invented(seed).write(path)
        plugin = plugin_of(paths)
        ours = [compare(path, theirs, 1e-9) for path, theirs in zip(paths, plugin)]
    # What must have come to pass, or nothing was compared.
    assert sum(bool(o["left_out"]) for o in ours) > 20, "no trace lost a step at its end"
    assert sum(len(o["steps"]) > 1 for o in ours) > 100
    assert sum(not o["marked"] for o in ours) > 20
    assert sum(theirs["replaced"] for theirs in plugin) > 5, "no step was full"
    assert sum(sum(d["sm_efficiency"] > 0 for d in o["devices"]) > 1 for o in ours) > 100
    for share in SHARES:
        assert sum(o["means"][share] > 0 for o in ours) > 50, share


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
