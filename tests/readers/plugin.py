#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plugin.py TORCH.json OURS.json - does TensorBoard's plugin come to the same numbers?

Both files go through the data model of torch_tb_profiler: the same steps with the same
times, the same sums by category, the same operator table by name and by shape, the same
memory statistics and peaks, and the same memory view - its curve, its tables, its events -
within the noise of two clocks.

The plugin's released version drops annotations other than steps; our dialect tb043
therefore spells DataLoader and optimizer rows as operators.  torch's file is given the
same spelling before it is compared with such a file.
"""
import gzip
import json
import sys

from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.run import RunProfile

ROLES = ("Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader", "CPU Exec",
         "Other", "Total")
AS_OPERATORS = ("enumerate(DataLoader)#", "Optimizer.", "DistributedDataParallel.", "nccl:",
                "gloo:")


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def is_tb043(trace):
    return any(e.get("cat") == "forward_backward" for e in trace["traceEvents"]) or \
        any(e.get("cat") == "cpu_op" and e["name"].startswith(AS_OPERATORS)
            for e in trace["traceEvents"])


def respell(trace):
    for event in trace["traceEvents"]:
        if event.get("cat") == "user_annotation" and event["name"].startswith(AS_OPERATORS):
            event["cat"] = "cpu_op"
        elif event.get("cat") == "fwdbwd":
            event["cat"] = "forward_backward"


class Numbers:
    """What the plugin made of one file."""

    def __init__(self, trace):
        data = RunProfileData.from_json("worker", "1", trace)
        self.steps = data.steps_names
        self.costs = {name: dict(zip(ROLES, costs.costs))
                      for name, costs in zip(data.steps_names, data.steps_costs)}
        self.operators = {row.name: row for row in data.op_list_groupby_name}
        self.shaped = {(row.name, row.input_shape): row for row in data.op_list_groupby_name_input}
        self.modules = data.forward_backward_events
        self.peaks, self.memory = {}, {}
        self.curve = self.table = self.events = None
        if data.memory_snapshot:
            self.peaks = dict(data.memory_snapshot.get_peak_memory())
            self.memory = data.memory_snapshot.get_memory_statistics(data.tid2tree)
            self.memory_view(data)

    def memory_view(self, data):
        """What the page shows: as its own code makes it."""
        page = RunProfile("worker", "1")
        page.memory_snapshot, page.tid2tree = data.memory_snapshot, data.tid2tree
        page.profiler_start_ts, page.gpu_infos = data.profiler_start_ts, {}
        self.curve = page.get_memory_curve(time_metric="us", memory_metric="B",
                                           patch_for_step_plot=False)
        self.table = page.get_memory_stats(memory_metric="B")
        self.events = page.get_memory_events(time_metric="us", memory_metric="B")


class Comparison:
    def __init__(self, torch, ours, times):
        self.torch, self.ours, self.problems, self.points = torch, ours, [], 0
        self.times = times

    def say(self, text):
        self.problems.append(text)

    def close(self, what, theirs, ours, slack, part=0.05):
        if self.times and abs(theirs - ours) > slack + part * abs(theirs):
            self.say(f"{what}: torch {theirs:.1f}, ours {ours:.1f}")

    def same(self, what, theirs, ours):
        if theirs != ours:
            self.say(f"{what}: torch {theirs}, ours {ours}")

    def run(self):
        self.same("steps", self.torch.steps, self.ours.steps)
        for step, costs in self.torch.costs.items():
            for role in ROLES:
                ours = self.ours.costs.get(step, {}).get(role, 0.0)
                self.close(f"step {step}, {role} us", costs[role], ours, 150.0)
        self.table("operator", self.torch.operators, self.ours.operators)
        self.table("operator with shape", self.torch.shaped, self.ours.shaped)
        self.same("peaks", self.torch.peaks, self.ours.peaks)
        self.same("memory by operator", self.torch.memory, self.ours.memory)
        if self.torch.curve:
            self.memory_view()

    def memory_view(self):
        theirs, ours = self.torch, self.ours
        self.same("shown peaks", theirs.curve["metadata"]["peaks"], ours.curve["metadata"]["peaks"])
        self.same("devices", theirs.curve["metadata"]["devices"], ours.curve["metadata"]["devices"])
        for device, points in theirs.curve["rows"].items():
            mine = ours.curve["rows"].get(device, [])
            self.same(f"{device}: points of the curve", len(points), len(mine))
            self.same(f"{device}: the curve", [point[1:] for point in points],
                      [point[1:] for point in mine])
            if mine:
                far = sorted(abs((a[0] - points[0][0]) - (b[0] - mine[0][0]))
                             for a, b in zip(points, mine))
                # A thread may lose its processor between the two observers' clocks.
                self.close(f"{device}: us between the curves", 0, far[len(far) * 9 // 10], 100.0)
            self.points += len(points)
        self.same("memory table", theirs.table["rows"], ours.table["rows"])
        for device, rows in theirs.events["rows"].items():
            # operator, bytes, when, when released, how long
            self.same(f"{device}: memory events", [row[:2] for row in rows],
                      [row[:2] for row in ours.events["rows"].get(device, [])])

    def table(self, what, theirs, ours):
        for name in sorted(set(theirs) ^ set(ours), key=str):
            self.say(f"{what} {name} is in {'torch' if name in theirs else 'our'}'s table only")
        for name in set(theirs) & set(ours):
            a, b = theirs[name], ours[name]
            self.same(f"{what} {name}: calls", a.calls, b.calls)
            slack = 100.0 + 3.0 * a.calls
            self.close(f"{what} {name}: total us", a.host_duration, b.host_duration, slack)
            self.close(f"{what} {name}: self us", a.self_host_duration, b.self_host_duration,
                       slack, 0.1)


def main(torch_path, our_path, times="times"):
    torch, ours = load(torch_path), load(our_path)
    dialect = "tb043" if is_tb043(ours) else "kineto"
    if dialect == "tb043":
        respell(torch)
    comparison = Comparison(Numbers(torch), Numbers(ours), times == "times")
    comparison.run()
    for problem in comparison.problems[:300]:
        print(problem)
    print(f"{dialect}: {len(comparison.torch.steps)} steps, {len(comparison.torch.operators)} "
          f"operators, {len(comparison.torch.shaped)} with shapes, {comparison.points} points of the memory curve; "
          f"{len(comparison.problems)} differences")
    return 1 if comparison.problems or not comparison.torch.steps else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
