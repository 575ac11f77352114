# SPDX-License-Identifier: Apache-2.0
"""cuda_train.py EXTENSION [--steps N] [--what WORD,...] - a training loop on the GPU beside.

Data loader, forward, backward, update; each launches through the extension. The words
add to a step: nccl, graph, scratch, tail (kernels that end after their step), devices
(work on a second one), sum (gloo all-reduce between the ranks), profiler (torch.profiler
around steps 2 and 3), toggle (the GPU is switched off in steps 3 and 4, by torch), bundled
(in steps 3 and 4 torch's profiler has the GPU, as with torch 1.13: CUDA_BUNDLED is mapped).
"""
import argparse
import contextlib
import ctypes
import os
import time

import torch
from torch.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("extension")
parser.add_argument("--steps", type=int, default=8)
parser.add_argument("--workers", type=int, default=2)
parser.add_argument("--what", default="")
parser.add_argument("--pause", type=float, default=0.0, help="seconds to sleep at the end")
args = parser.parse_args()
what = set(filter(None, args.what.split(",")))

torch.ops.load_library(args.extension)
mark = ctypes.CDLL(args.extension).truth_mark
gpu = torch.ops.gpu


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Parameter(torch.randn(64, 32) / 8)
        self.second = torch.nn.Parameter(torch.randn(16, 64) / 8)

    def forward(self, x):
        return gpu.linear(gpu.relu(gpu.linear(x, self.first)), self.second)


class OnGpu(torch.optim.SGD):
    """Its step launches, too."""

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for w in group["params"]:
                gpu.sgd_(w, w.grad, group["lr"])


def extras(step, model):
    if "nccl" in what:
        for w in model.parameters():
            gpu.all_reduce(w.grad)
    if "sum" in what:
        for w in model.parameters():
            torch.distributed.all_reduce(w.grad)
    if "graph" in what:
        gpu.replay()
    if "scratch" in what:
        gpu.scratch(1 << 20)
    if "devices" in what:
        gpu.other_device(1)
    if "tail" in what:
        gpu.tail(1000)


def toggle(step, profiler):
    """torch's own switch, which works while its profiler does."""
    if step == 2:
        profiler.start()
    elif step in (3, 5):
        profiler.toggle_collection_dynamic(step == 5, [torch.profiler.ProfilerActivity.CUDA])
        time.sleep(0.4)
    elif step == 6:
        profiler.stop()


def bundled(step):
    """A wheel whose CUPTI is linked into it, by the name of the runtime that it brings."""
    from torch.autograd import ProfilerConfig, ProfilerState, _disable_profiler, \
        _enable_profiler, _prepare_profiler, ProfilerActivity
    from torch._C._profiler import _ExperimentalConfig
    both = {ProfilerActivity.CPU, ProfilerActivity.CUDA}
    config = ProfilerConfig(ProfilerState.KINETO, False, False, False, False, False,
                            _ExperimentalConfig())
    if step == 0:
        ctypes.CDLL(os.environ["CUDA_BUNDLED"])
    elif step == 3:
        _prepare_profiler(config, both)
        _enable_profiler(config, both)
    elif step == 5:
        _disable_profiler()
        time.sleep(1.5)


def main():
    if "sum" in what:
        torch.distributed.init_process_group("gloo")
    torch.manual_seed(0)
    model = Net()
    optimizer = OnGpu(model.parameters(), lr=0.1)
    data = TensorDataset(torch.randn(args.steps * 32, 32), torch.randn(args.steps * 32, 16))
    with contextlib.ExitStack() as stack:
        profiler = None
        switch = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
        for step, (x, y) in enumerate(DataLoader(data, 32, num_workers=args.workers)):
            if "profiler" in what and step == 2:
                profiler = stack.enter_context(torch.profiler.profile())
            if "toggle" in what:
                toggle(step, switch)
            if "bundled" in what:
                bundled(step)
            mark(b"step", step)
            with record_function("forward pass"):
                out = model(gpu.upload(x))
            loss = gpu.mean((out - gpu.upload(y)) ** 2)
            optimizer.zero_grad()
            loss.backward()
            extras(step, model)
            optimizer.step()
            if profiler is not None and step == 3:
                stack.close()
                profiler = None
        gpu.wait()
        mark(b"step", args.steps)
    print(f"loss {loss.item():.5f}", flush=True)
    time.sleep(args.pause)
    if "sum" in what:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
