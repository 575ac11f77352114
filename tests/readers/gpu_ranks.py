#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu_ranks.py FOLDER LIBRARY BYTES KERNEL_NS - the plugin's distributed view, done by hand.

FOLDER has the files of two ranks that reduced their gradients with LIBRARY: gloo, or nccl.
BYTES is what one step of one rank reduces, KERNEL_NS what a kernel of NCCL's takes (0: none).
The plugin reads the folder as TensorBoard has it read; overlap, waiting, the table of
collectives and the GPUs must be what the intervals in the two files say.
"""
import collections
import glob
import logging
import os
import re
import sys

from gpu_numbers import US, categories, device_steps, problems, same
from gpu_trace import COLLECTIVES, Trace, covered, spans, sweep

REDUCTIONS = 2  # of one step: a gradient each


class Rank:
    def __init__(self, path):
        self.worker = re.match(r"(.*)\.\d+\.pt\.trace", os.path.basename(path))[1]
        self.trace = Trace(path)
        numbers = [s.name.split("#")[1] for s in self.trace.steps]
        self.steps = dict(zip(numbers, device_steps(self.trace)))
        kernels = collections.defaultdict(list)
        for kernel in self.trace.kinds["kernel"]:
            kernels[kernel.external].append(kernel)
        # Of slices with one external id the plugin takes the last: NCCL's on the GPU.
        last = {s.external: s for s in self.trace.slices if s.name in COLLECTIVES}
        self.nodes = []  # (step, its ranges)
        for external, one in last.items():
            (step,) = [n for n, (begin, end) in self.steps.items()
                       if begin <= one.begin and one.end <= end]
            self.nodes.append((step, sorted(spans([one] + kernels[external]))))
        self.kernels = [k for external in last for k in kernels[external]]
        self.real = []  # as long as the shortest of all ranks', at the end


def transfers(ranks):
    """What a rank waits for the others is not transfer: the last one to come waits not."""
    for nodes in zip(*(rank.nodes for rank in ranks)):
        for turn in zip(*(ranges for _, ranges in nodes)):
            least = min(end - begin for begin, end in turn)
            for rank, node, (_, end) in zip(ranks, nodes, turn):
                rank.real.append((node[0], (end - least, end)))


def length(ranges):
    return sum(b - a for a, b, seen in sweep({"x": ranges}) if seen["x"] > 0)


def check_overlap(rank, view):
    layers = {role: spans(some) for role, some in categories(rank.trace).items()}
    alls = [0] * 4
    for step, (begin, end) in rank.steps.items():
        kernel = comm = both = 0
        for a, b, seen in sweep(layers, begin, end):
            kernel += (b - a) * (seen["Kernel"] > 0)
            comm += (b - a) * (seen["Communication"] > 0)
            both += (b - a) * (seen["Kernel"] > 0 and seen["Communication"] > 0)
        wanted = [kernel - both, both, comm - both, end - begin + both - kernel - comm]
        for what, mine, theirs in zip(view["metadata"]["legends"], wanted,
                                      view["data"][step][rank.worker]):
            same(f"{rank.worker}, step {step}: {what}", mine / US, theirs)
        alls = [x + y for x, y in zip(alls, wanted)]
    for mine, theirs in zip(alls, view["data"]["all"][rank.worker]):
        same(f"{rank.worker}: mean overlap", mine / US / len(rank.steps), theirs, 1)


def check_waits(rank, view):
    for step in rank.steps:
        latency = length([r for at, ranges in rank.nodes if at == step for r in ranges])
        real = length([r for at, r in rank.real if at == step])
        assert 0 < real <= latency, (rank.worker, step, real, latency)
        for what, mine, theirs in zip(view["metadata"]["legends"], (real, latency - real),
                                      view["data"][step][rank.worker]):
            same(f"{rank.worker}, step {step}: {what}", mine / US, theirs)


def check_table(rank, library, size, kernel_ns, view):
    calls = REDUCTIONS * len(rank.steps)
    latency = length([r for _, ranges in rank.nodes for r in ranges])
    real = length([r for _, r in rank.real])
    assert len(rank.kernels) == (calls if kernel_ns else 0), len(rank.kernels)
    assert all(kernel.length == kernel_ns for kernel in rank.kernels), rank.worker
    (row,) = view["data"][rank.worker]["rows"]
    names = [column["name"] for column in view["data"][rank.worker]["columns"]]
    wanted = [f"{library}:all_reduce", calls, size * len(rank.steps), size // REDUCTIONS,
              latency / US, latency / US / calls, real / US, real / US / calls]
    assert row[0] == wanted[0], row
    for what, mine, theirs in zip(names[1:], wanted[1:], row[1:]):
        same(f"{rank.worker}: {what}", mine, theirs, 0.51 if what.startswith("Avg") else 0.01)


def check_gpus(ranks, view):
    (node,) = view["data"].values()
    wanted = {f"Process {re.match(r'.*_([0-9]+)', rank.worker)[1]}":
              sorted({f"GPU{work.pid}" for work in rank.trace.work}) for rank in ranks}
    found = {process: sorted(gpus) for process, gpus in node.items()}
    if wanted != found:
        problems.append(f"GPUs: by hand {wanted}, the plugin says {found}")
    for gpus in node.values():
        for gpu in gpus.values():
            if gpu["Memory Raw"] != 80 << 30 or gpu["Compute Capability"] != "9.0":
                problems.append(f"GPU: {gpu}")


def view_of(folder):
    """As TensorBoard loads a folder: each file in a process of its own."""
    from torch_tb_profiler import io
    from torch_tb_profiler.profiler.loader import RunLoader

    run = RunLoader("ranks", folder, io.Cache()).load()
    workers = sorted(worker for worker, _ in run.profiles if worker != "All")
    (view,) = [p for (worker, _), p in run.profiles.items() if worker == "All"] or [None]
    return workers, view


def main(folder, library, size, kernel_ns):
    logging.disable(logging.CRITICAL)
    ranks = [Rank(path) for path in sorted(glob.glob(os.path.join(folder, "*.json")))]
    assert len(ranks) == 2 and all(rank.steps for rank in ranks), [r.worker for r in ranks]
    assert sorted(r.trace.raw["distributedInfo"]["rank"] for r in ranks) == [0, 1]
    transfers(ranks)
    workers, view = view_of(folder)
    if workers != [rank.worker for rank in ranks] or view is None:
        print(f"{library}: the plugin has {workers}, distributed view: {view}")
        return 1
    for rank in ranks:
        assert len(rank.nodes) == REDUCTIONS * len(rank.steps), rank.nodes
        check_overlap(rank, view.steps_to_overlap)
        check_waits(rank, view.steps_to_wait)
        check_table(rank, library, int(size), int(kernel_ns), view.comm_ops)
    check_gpus(ranks, view.gpu_info)
    for problem in problems[:30]:
        print(problem)
    busy = sum(covered(rank.trace.work) for rank in ranks) // 1000
    print(f"{library}: two ranks, {len(ranks[0].steps)} steps, {busy} us of GPU work; "
          f"{len(problems)} differences")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
