# SPDX-License-Identifier: Apache-2.0
"""torch_work.py MODE [--steps N] [--profiler FILE] - programs of torch for a real GPU.

Prints JSON: the nanoseconds of each step, each ended by a synchronisation; the loss.
Two annotations stand around the second half of the steps; with --profiler torch.profiler
runs around them, and its trace goes to FILE.  It keeps what proflaunch keeps by default.

  train    convolutions, matrix products, AdamW, mixed precision
  tiny     many small operators: the host is the limit
  graph    a captured step, replayed
  compile  torch.compile, that is Triton's kernels
  streams  four streams, events between them
  capture  a graph captured on a thread while another one works
  ahead    the host runs far ahead of the GPU; one synchronisation at the end
"""
import argparse
import contextlib
import json
import threading
import time

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, record_function

parser = argparse.ArgumentParser()
parser.add_argument("mode")
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--profiler", default="")
parser.add_argument("--shapes", action="store_true", help="torch.profiler's record_shapes")
parser.add_argument("--pause", type=float, default=0.0, help="seconds between steps")
args = parser.parse_args()
torch.manual_seed(0)
device = torch.device("cuda", 0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 32, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(32)
        self.head = torch.nn.Linear(32 * 16 * 16, 128)
        self.last = torch.nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return self.last(F.gelu(self.head(x.flatten(1))))


class Train:
    def __init__(self, compiled=False):
        self.net = Net().to(device)
        self.run = torch.compile(self.net) if compiled else self.net
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=1e-3)
        self.x = torch.randn(64, 3, 32, 32).pin_memory()
        self.y = torch.randint(10, (64,)).pin_memory()

    def step(self):
        x, y = self.x.to(device, non_blocking=True), self.y.to(device, non_blocking=True)
        with torch.autocast("cuda", torch.float16, enabled=torch.cuda.get_device_capability()[0] >= 7):
            loss = F.cross_entropy(self.run(x).float(), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


class Tiny:
    def __init__(self):
        self.x, self.y = torch.ones(8, device=device), torch.ones(8, device=device)

    def step(self):
        for _ in range(1000):
            self.x.add_(self.y)
        return self.x.sum()


class Graph:
    def __init__(self):
        self.x, self.w = torch.randn(256, 256, device=device), torch.randn(256, 256, device=device)
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                self.work()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.work()

    def work(self):
        return torch.relu(self.x @ self.w).sum() + (self.x * 2).mean()

    def step(self):
        self.graph.replay()
        return self.out


class Streams:
    def __init__(self):
        self.streams = [torch.cuda.Stream() for _ in range(4)]
        self.x = [torch.randn(512, 512, device=device) for _ in self.streams]

    def step(self):
        events = []
        for stream, x in zip(self.streams, self.x):
            with torch.cuda.stream(stream):
                if events:
                    stream.wait_event(events[-1])
                x.copy_(torch.tanh(x @ x))
                events.append(stream.record_event())
        torch.cuda.current_stream().wait_event(events[-1])
        return self.x[0].sum()


class Capture(Tiny):
    def step(self):
        def capture():
            side = torch.cuda.Stream()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.stream(side):
                graph.capture_begin(capture_error_mode="thread_local")
                twice = self.y * 2
                graph.capture_end()
            graph.replay()
            side.synchronize()
            del twice

        thread = threading.Thread(target=capture)
        thread.start()
        for _ in range(100):
            self.x.add_(self.y)
        thread.join()
        return self.x.sum()


class Ahead:
    def __init__(self):
        self.x = torch.randn(4096, 4096, device=device)

    def step(self):
        for _ in range(8):
            self.y = self.x @ self.x
        return None


def main():
    work = {"train": Train, "tiny": Tiny, "graph": Graph, "streams": Streams, "capture": Capture,
            "ahead": Ahead, "compile": lambda: Train(compiled=True)}[args.mode]()
    # What counts as a step for whoever watches from outside, without a loader.
    ender = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.0)
    times, loss = [], None
    with contextlib.ExitStack() as stack:
        profiler = None
        for number in range(args.steps):
            if number == args.steps // 2:
                torch.cuda.synchronize()
                if args.profiler:
                    profiler = stack.enter_context(profile(activities=[
                        ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=args.shapes))
                with record_function("fidelity::begin"):
                    pass
            begin = time.perf_counter_ns()
            loss = work.step()
            if args.mode != "ahead":
                torch.cuda.synchronize()
            times.append(time.perf_counter_ns() - begin)
            if args.mode not in ("train", "compile"):
                ender.step()
            time.sleep(args.pause)
        torch.cuda.synchronize()
        with record_function("fidelity::end"):
            pass
    if profiler is not None:
        profiler.export_chrome_trace(args.profiler)
    print(json.dumps({"mode": args.mode, "ns": times,
                      "loss": float(loss) if loss is not None else None}))


if __name__ == "__main__":
    main()
