# SPDX-License-Identifier: Apache-2.0
"""torch_tables.py real|made FOLDER - traces, and the tables that torch prints of the same events.

real: a program under torch.profiler. made: events by chance, of threads and GPUs, that go through torch's
own code from the moment on at which it gets them from Kineto; SEEDS of them.
Each trace NAME.json has a list [[sort_by, row_limit, by shape, text], ...] in NAME.tables.
"""
import json
import os
import random
import sys
import threading

import torch
import torch.autograd.profiler as profiler
import torch.autograd.profiler_util as util
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile, record_function, schedule

SEEDS = 150
KEYS = (None, "cpu_time", "cuda_time", "cpu_time_total", "device_time_total", "self_cpu_time_total",
        "self_cuda_time_total", "cpu_memory_usage", "cuda_memory_usage", "self_cpu_memory_usage",
        "self_cuda_memory_usage", "count")


def exact_sum(items):
    """sum() as Python has it since 3.12."""
    total, carry, floats = 0, 0.0, False
    for x in items:
        if not floats or not isinstance(x, float):
            total, floats = total + x, floats or isinstance(x, float)
            continue
        t = total + x
        carry += (total - t) + x if abs(total) >= abs(x) else (x - t) + total
        total = t
    return total + carry if carry else total


def keep_tables(path, averages, keys, limits):
    tables = [(key, limit, shapes, averages(shapes).table(sort_by=key, row_limit=limit))
              for key in keys for limit in limits for shapes in (False, True)]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(tables, file)


# ---- a real program ----

def beside():
    with record_function("beside"):
        for _ in range(5):
            torch.cat([torch.randn(4, 4), torch.randn(3, 4)]).sum()


def train(prof):
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
                              torch.nn.Linear(8 * 15 * 15, 10))
    data = torch.utils.data.TensorDataset(torch.randn(64, 3, 32, 32), torch.randint(0, 10, (64,)))
    optimizer = torch.optim.Adam(net.parameters(), foreach=True)
    for x, y in torch.utils.data.DataLoader(data, batch_size=16):
        thread = threading.Thread(target=beside)
        thread.start()
        with record_function("forward"), record_function("a name that is longer than a column of this table may be"):
            loss = torch.nn.functional.cross_entropy(net(x), y)
        with record_function("aten::add"):
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        thread.join()
        prof.step()


def alone(prof):
    """With stacks and other threads torch 2.13 reads names that are gone."""
    net = torch.nn.Linear(8, 8)
    for _ in range(4):
        net(torch.randn(2, 8)).sum().backward()
        prof.step()


def real(folder):
    for name, work, given in (("all", train, {"record_shapes": True, "profile_memory": True}), ("bare", train, {}),
                              ("memory", train, {"profile_memory": True}), ("stacks", alone, {"with_stack": True})):
        with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=2), **given) as prof:
            work(prof)
        prof.export_chrome_trace(os.path.join(folder, name + ".json"))
        keep_tables(os.path.join(folder, name + ".tables"), lambda shapes, p=prof: p.key_averages(group_by_input_shape=shapes),
                    KEYS, (-1, 7))


# ---- events by chance ----

BASE = 1_700_000_000_000_000_000
NAMES = ("aten::mm", "aten::add", "aten::add_", "aten::is_leaf", "mine", "Optimizer.step#SGD.step", "größe ü" * 9,
         "a name that is longer than a column of this table may be", "ProfilerStep#1", "ProfilerStep#2")
SHAPES = ([], [[2, 3]], [[2, 3], [], [4]], [[[2, 3], [4]], [5]], [[[2, 3]], [5]], [[[]]], [[7, 8, 9]] * 9)
KERNELS = ("sgemm", "void at::native::elementwise<4, (int)8>(long)", "Memcpy HtoD (Pinned -> Device)",
           "Memset (Device)")


class Event:
    """What torch asks one of Kineto's events."""

    def __init__(self, **known):
        self.known = {"device_type": DeviceType.CPU, "start_thread_id": 0, "linked_correlation_id": 0, "correlation_id": 0,
                      "is_user_annotation": False, "shapes": [], "stack": [], "is_async": False, "scope": 0,
                      "is_hidden_event": False, "cuda_elapsed_us": -1, "sequence_nr": -1, "overload_name": "",
                      "flops": 0, "device_index": 0, **known}
        self.known.setdefault("end_thread_id", self.known["start_thread_id"])

    def __getattr__(self, name):
        return lambda: self.known.get(name)


class Made:
    """A trace by chance: what Kineto would hand to torch, and what it would write."""

    def __init__(self, seed):
        self.r, self.events, self.written, self.ids = random.Random(seed), [], [], 0
        self.start = BASE + self.r.randrange(1000)
        self.gpu, self.memory = self.r.random() < 0.8, self.r.random() < 0.6
        self.flops = 10 ** (seed % 19) if seed % 3 else 0       # the largest
        # Whole units make equal times likely, any others times that are rounded. A thread has beginnings of
        # its own, as nothing says which of two threads' equal events comes first.
        self.unit, self.odd = self.r.choice((16, 16000, 1_000_016)), self.r.choice((1, 16))
        for thread in range(1, self.r.randrange(2, 5)):
            self.fill(thread, thread + 16 * 100, thread + self.unit * self.r.randrange(50, 400), 0)
        if self.memory:
            for _ in range(self.r.randrange(40)):
                self.allocate()

    def moment(self, ns):
        return round((self.start + ns - BASE) / 1000, 3)

    def write(self, cat, name, pid, tid, begin, end, **args):
        self.written.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": self.moment(begin),
                             "dur": (end - begin) / 1000, "args": args})

    def fill(self, thread, begin, end, depth):
        """Puts events next to each other into an interval."""
        while begin < end and self.r.random() < 0.9:
            first = begin + self.unit * self.r.randrange(3)
            last = min(end, first + self.unit * self.r.choice((0, 1, 5, 50, 300)) + self.r.randrange(self.odd))
            if first > last:
                return
            self.event(thread, first, last, depth)
            begin = last + (thread - last) % 16

    def event(self, thread, begin, end, depth):
        self.ids += 1
        number, kind = self.ids, self.r.random()
        note, name = kind < 0.25, self.r.choice(NAMES)
        if name.startswith(("Optimizer", "ProfilerStep")):
            note = True
        shapes = [] if note else self.r.choice(SHAPES)
        flops, ours = 0 if note else int(self.flops ** self.r.random()), self.r.random() < 0.2
        self.events.append(Event(name=name, flops=0 if ours else flops, start_ns=self.start + begin, end_ns=self.start + end, start_thread_id=thread,
                                 correlation_id=number, is_user_annotation=note,
                                 shapes=[[] if shape and isinstance(shape[0], list) else shape for shape in shapes]))
        self.write("user_annotation" if note else "cpu_op", name, 1, thread, begin, end,
                   **{"External id": number}, **({"Input Dims": shapes} if shapes else {}),
                   **({"flops": flops} if flops else {}), **({"flops_source": "proflaunch"} if flops and ours else {}))
        if self.gpu and self.r.random() < 0.4:
            self.launch(thread, number, name if note else None, begin, end)
        elif depth < 6 and end - begin > self.unit:
            if self.r.random() < 0.3:       # the only child, perhaps a twin
                self.event(thread, begin, begin + (end - begin) // self.unit * self.unit, depth + 1)
            else:
                self.fill(thread, begin, end, depth + 1)

    def launch(self, thread, number, note, begin, end):
        """A call that an operator made, or nobody, and what it set going."""
        linked = number if thread != 1 or self.r.random() < 0.8 else 0
        # That of a call that nobody made may be an operator's number: torch then takes the one for the other,
        # and on another thread the operator's calls for ones of this thread, which ours does not.
        correlation = self.r.choice((self.r.randrange(1, number + 1), 10**6 + number))
        args = {"External id": linked} if linked else {}
        self.events.append(Event(name="cudaLaunchKernel", start_ns=self.start + begin, end_ns=self.start + end,
                                 start_thread_id=thread, correlation_id=correlation, linked_correlation_id=linked))
        self.write("cuda_runtime", "cudaLaunchKernel", 1, thread, begin, end, correlation=correlation, **args)
        for _ in range(self.r.randrange(3)):
            stream, name = self.r.choice((7, 20)), self.r.choice(KERNELS)
            first = (end // 16 + self.r.randrange(10**5)) * 16 + (7 if stream == 7 else 9)
            last = first + 16 * self.r.randrange(10**6) + self.r.randrange(self.odd)
            cat = "gpu_memcpy" if "Memcpy" in name else "gpu_memset" if "Memset" in name else "kernel"
            self.events.append(Event(name=name, start_ns=self.start + first, end_ns=self.start + last,
                                     device_type=DeviceType.CUDA, correlation_id=correlation,
                                     linked_correlation_id=linked))
            shares = {"blocks per SM": self.r.random() * 9, "est. achieved occupancy %": self.r.randrange(101)}
            self.write(cat, name, 0, stream, first, last, correlation=correlation, stream=stream, device=0, **args,
                       **(shares if cat == "kernel" and self.r.random() < 0.9 else {}))
            if note and linked:
                self.events.append(Event(name=note, start_ns=self.start + first, end_ns=self.start + last + 5,
                                         device_type=DeviceType.CUDA, is_user_annotation=True,
                                         linked_correlation_id=number))
                self.write("gpu_user_annotation", note, 0, stream, first - 1, last + 6, **args)

    def allocate(self):
        ts, bytes_ = 16 * self.r.randrange(10**6), self.r.choice((1, -1)) * self.r.randrange(1 << self.r.randrange(1, 34))
        device = self.r.choice((DeviceType.CPU, DeviceType.CUDA, DeviceType.CPU))
        self.events.append(Event(name="[memory]", start_ns=self.start + ts, end_ns=self.start + ts, nbytes=bytes_,
                                 device_type=device))
        self.written.append({"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": self.moment(ts),
                             "args": {"Device Type": 1 if device == DeviceType.CUDA else 0, "Device Id": 0,
                                      "Bytes": bytes_, "Addr": 1, "Total Allocated": 0, "Total Reserved": 0}})

    def trace(self):
        return {"baseTimeNanoseconds": BASE, **({"profile_memory": 1} if self.memory else {}),
                **({"with_flops": 1} if self.flops else {}),
                "traceEvents": [{"ph": "i", "s": "g", "name": "Iteration Start: PyTorch Profiler", "pid": "Traces",
                                 "tid": "Trace PyTorch Profiler", "ts": self.moment(0)}, *self.written]}

    def averages(self):
        """torch's own way from Kineto's events to rows."""
        called = any(e.known["correlation_id"] and e.known["name"] == "cudaLaunchKernel" for e in self.events)
        asked = type("Profile", (), {"use_device": "cuda" if called else None})()
        result = type("Result", (), {"events": lambda _: self.events, "trace_start_ns": lambda _: self.start})()
        events = util.EventList(profiler.profile._parse_kineto_results(asked, result), use_device=asked.use_device,
                                profile_memory=self.memory, with_flops=bool(self.flops))
        events._build_tree()
        return lambda shapes: events.key_averages(group_by_input_shapes=shapes)


def made(folder):
    for seed in range(SEEDS):
        one = Made(seed)
        path = os.path.join(folder, f"made{seed}")
        with open(path + ".json", "w", encoding="utf-8") as file:
            json.dump(one.trace(), file, ensure_ascii=False)
        keep_tables(path + ".tables", one.averages(), (None, KEYS[1 + seed % (len(KEYS) - 1)]), (-1,))


def main():
    if sys.version_info < (3, 12):
        util.sum = exact_sum
    torch.manual_seed(0)
    (real if sys.argv[1] == "real" else made)(sys.argv[2])


if __name__ == "__main__":
    main()
