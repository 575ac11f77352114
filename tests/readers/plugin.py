#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plugin.py TORCH.json OURS.json - does TensorBoard's plugin come to the same numbers?

Both files go through the data model of torch_tb_profiler: the same steps with the same
times, the same sums by category, the same operator table by name and by shape, the same
memory statistics and peaks, within the noise of two clocks.

The plugin's released version drops annotations other than steps; our dialect tb043
therefore spells DataLoader and optimizer rows as operators.  torch's file is given the
same spelling before it is compared with such a file.
"""
import gzip
import json
import sys

from torch_tb_profiler.profiler.data import RunProfileData

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
        if data.memory_snapshot:
            self.peaks = dict(data.memory_snapshot.get_peak_memory())
            self.memory = data.memory_snapshot.get_memory_statistics(data.tid2tree)


class Comparison:
    def __init__(self, torch, ours):
        self.torch, self.ours, self.problems = torch, ours, []

    def say(self, text):
        self.problems.append(text)

    def close(self, what, theirs, ours, slack, part=0.05):
        if abs(theirs - ours) > slack + part * abs(theirs):
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


def main(torch_path, our_path):
    torch, ours = load(torch_path), load(our_path)
    dialect = "tb043" if is_tb043(ours) else "kineto"
    if dialect == "tb043":
        respell(torch)
    comparison = Comparison(Numbers(torch), Numbers(ours))
    comparison.run()
    for problem in comparison.problems[:30]:
        print(problem)
    print(f"{dialect}: {len(comparison.torch.steps)} steps, {len(comparison.torch.operators)} "
          f"operators, {len(comparison.torch.shaped)} with shapes; "
          f"{len(comparison.problems)} differences")
    return 1 if comparison.problems or not comparison.torch.steps else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
