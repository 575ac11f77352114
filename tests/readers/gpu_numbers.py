#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu_numbers.py TRACE TRUTH DURATIONS - the TensorBoard plugin's numbers, done by hand.

TRUTH is what the program says it launched (tests/e2e/progs/cuda_ext.cpp), DURATIONS what
the fake GPU was told a kernel takes: name=ns,...  From these two alone, and from the
intervals in the file, come the eight categories of each step, the device time of every
operator, the GPU summary and the kernel view; the plugin must say the same.

The plugin's released version knows no `cuda_runtime`: of a file in the dialect kineto it
shows no runtime and no device time of operators, so that there these two are left out.
"""
import collections
import json
import logging
import sys

from gpu_trace import COLLECTIVES, Trace, covered, demangled, spans, sweep

ROLES = ("Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader", "CPU Exec",
         "Other")
US = 1000.0
problems = []


def same(what, by_hand, plugin, slack=0.01):
    if by_hand is None or plugin is None:
        bad = by_hand != plugin
    else:
        bad = abs(by_hand - plugin) > slack + 1e-6 * abs(by_hand)
    if bad:
        problems.append(f"{what}: by hand {by_hand}, the plugin says {plugin}")


class Truth:
    """Rows of work in the steps that the trace shows."""

    def __init__(self, path, steps, durations):
        self.rows, step = [], None
        with open(path, encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                step = row.get("step", step)
                if "op" in row and step in steps:
                    self.rows.append({**row, "at": step})
        self.durations = durations

    def ns(self, row):
        """What one piece of its GPU work takes."""
        if row["call"] in ("cudaMemcpyAsync", "cudaMemsetAsync"):
            return 1000 + row["amount"] // 10
        return self.durations["nccl" if row["call"] == "nccl" else row["work"]]

    def work(self):
        """(operator, kind, name, ns, how many)"""
        for row in self.rows:
            if row["call"] == "cudaLaunchKernel":
                yield row["op"], "kernel", row["work"], self.ns(row), 1
            elif row["call"] == "cudaGraphLaunch":
                yield row["op"], "kernel", row["work"], self.ns(row), row["amount"]
            elif row["call"] == "nccl":
                yield row["op"], "kernel", "nccl", self.ns(row), 1
            elif row["call"] == "cudaMemcpyAsync":
                yield row["op"], "gpu_memcpy", row["work"], self.ns(row), 1
            elif row["call"] == "cudaMemsetAsync":
                yield row["op"], "gpu_memset", "set", self.ns(row), 1


# ---- steps and categories ------------------------------------------------------------

def device_steps(trace):
    """Each step, until the end of what it launched, and not before its forerunner's."""
    host = [(s.begin, s.end) for s in trace.steps]
    if not trace.tb043:
        return host
    launched = collections.defaultdict(list)
    for work in trace.work:
        launched[work.correlation].append(work)
    mine = [[w for call in trace.calls if begin <= call.begin and call.end <= end
             for w in launched[call.correlation]] for begin, end in host]
    if not any(mine):
        return host
    before, known = host[0][0], {id(w) for some in mine for w in some}
    if mine[0]:
        first = min(w.begin for w in mine[0])
        before = max([before] + [w.end for w in trace.work
                                 if id(w) not in known and w.end < first])
    found = []
    for (begin, end), some in zip(host, mine):
        begin = max(before, begin)
        before = max([end] + [w.end for w in some]) if some else max(end, begin)
        found.append((begin, before))
    assert len(mine[-1]) >= 0.8 * len(mine[-2]), "the plugin would drop the last step"
    return found


def categories(trace):
    """Layer -> intervals, in order of rank."""
    named = [s for s in trace.slices if s.name in COLLECTIVES and s.cat in
             ("cpu_op", "user_annotation", "gpu_user_annotation")]
    comm = {s.external for s in named}
    operators = [s for s in trace.kinds["cpu_op"] if s not in named
                 and not s.name.startswith("ProfilerStep#")]
    loads = [s for s in operators if s.name.startswith("enumerate(DataLoader)#")
             and s.name.endswith(".__next__")]
    kernels = trace.kinds["kernel"]
    return {
        "Kernel": [k for k in kernels if k.external not in comm],
        "Memcpy": trace.kinds["gpu_memcpy"],
        "Memset": trace.kinds["gpu_memset"],
        "Communication": [k for k in kernels if k.external in comm] + named,
        "Runtime": trace.kinds["Runtime"] + trace.kinds["runtime"],
        "DataLoader": loads,
        "CPU Exec": [o for o in operators if o not in loads],
    }


def check_steps(trace, data):
    layers = {role: spans(some) for role, some in categories(trace).items()}
    steps = device_steps(trace)
    same("number of steps", len(steps), len(data.steps_costs))
    for (begin, end), name, costs in zip(steps, data.steps_names, data.steps_costs):
        share = dict.fromkeys(ROLES, 0)
        for a, b, seen in sweep(layers, begin, end):
            role = next((r for r in ROLES[:-1] if seen[r] > 0), "Other")
            share[role] += b - a
        for place, role in enumerate(ROLES):
            same(f"step {name}, {role} (us)", share[role] / US, costs.costs[place])
        same(f"step {name}, total (us)", (end - begin) / US, costs.costs[len(ROLES)])
    return steps[0][0], steps[-1][1]


# ---- operators -----------------------------------------------------------------------

def owner(op, names):
    """The operator's name in the file: autograd's own spelling of a C++ function."""
    if not op.endswith("Backward"):
        return op
    stem = op[:-len("Backward")]
    found = [n for n in names if stem in n and "evaluate_function" not in n
             and ("Node" in n or "Backward" in n)]
    assert len(found) == 1, (op, found)
    return found[0]


def check_operators(trace, truth, data):
    """Own device time from what the program launched, total along the file's nesting."""
    names = {s.name for s in trace.kinds["cpu_op"]}
    own = collections.Counter()
    for op, _, _, ns, count in truth.work():
        own[owner(op, names)] += ns * count
    table = {row.name: row for row in data.op_list_groupby_name}
    if own["record_param_comms"] and "record_param_comms" not in table or trace.tb043:
        # Its kernels are joined to nccl:all_reduce, for the plugin's sake.
        own["nccl:all_reduce"] += own.pop("record_param_comms", 0)
    for name, ns in own.items():
        row = table.get(name)
        same(f"operator {name}: own device time (us)", ns / US, row and row.self_device_duration)
    for name, row in table.items():
        if name not in own and row.self_device_duration:
            problems.append(f"operator {name} launched nothing, the plugin says "
                            f"{row.self_device_duration} us")
    total = collections.Counter()
    by_thread = collections.defaultdict(list)
    for host in trace.kinds["cpu_op"]:
        by_thread[host.tid].append(host)
    for work in trace.work:
        call = trace.by_correlation[work.correlation]
        for name in {h.name for h in by_thread[call.tid] if h.holds(call)}:
            total[name] += work.length
    for name in ("gpu::linear", "gpu::gemm", "gpu::upload", "gpu::mean"):
        same(f"operator {name}: device time (us)", total[name] / US,
             table[name].device_duration, 0.1)


# ---- GPU summary, kernel view --------------------------------------------------------

def check_summary(trace, data, low, high):
    parser = data.gpu_metrics_parser
    by_device = collections.defaultdict(list)
    for kernel in trace.kinds["kernel"]:
        by_device[kernel.args["device"]].append(kernel)
    assert set(by_device) == set(parser.gpu_ids), (set(by_device), parser.gpu_ids)
    for device, kernels in by_device.items():
        same(f"GPU {device}: utilization", covered(kernels, low, high) / (high - low),
             parser.gpu_utilization[device], 1e-6)
        layers = {place: [(k.begin, k.end)] for place, k in enumerate(kernels)
                  if k.args.get("blocks per SM", 0) > 0}
        area = sum((b - a) * min(1.0, sum(kernels[p].args["blocks per SM"]
                                          for p, n in seen.items() if n > 0))
                   for a, b, seen in sweep(layers, low, high))
        same(f"GPU {device}: SM efficiency", area / (high - low),
             parser.avg_approximated_sm_efficiency_per_device[device], 1e-5)
        clipped = [(max(0, min(k.end, high) - max(k.begin, low)),
                    k.args.get("est. achieved occupancy %")) for k in kernels]
        time = sum(ns for ns, percent in clipped if percent is not None)
        weighted = sum(ns * percent for ns, percent in clipped if percent is not None)
        same(f"GPU {device}: occupancy", weighted / time if time else None,
             parser.avg_occupancy_per_device[device], 1e-3)


def check_kernels(trace, truth, data):
    wanted = collections.Counter()
    for _, kind, name, _, count in truth.work():
        if kind == "kernel":
            wanted[name] += count
    found = collections.Counter()
    for name, row in data.kernel_stat.iterrows():
        short = "nccl" if name.startswith("nccl") else demangled(name)
        found[short] += row["count"]
        ns = truth.durations[short]
        for column in ("mean", "max", "min"):
            same(f"kernel {name}: {column} (us)", ns / US, row[column])
        same(f"kernel {name}: sum (us)", ns * row["count"] / US, row["sum"], 0.1)
    if wanted != found:
        problems.append(f"kernels by hand {dict(wanted)}, in the kernel view {dict(found)}")
    by_operator = collections.Counter()
    for row in data.kernel_list_groupby_name_op:
        by_operator[demangled(row.name), row.op_name] += row.calls
    if trace.tb043:
        same("gemm of gpu::gemm in the kernel view", wanted["gemm"],
             by_operator["gemm", "gpu::gemm"])
        same("sgd of gpu::sgd_ in the kernel view", wanted["sgd"], by_operator["sgd", "gpu::sgd_"])


def main(path, truth_path, durations):
    logging.disable(logging.CRITICAL)
    from torch_tb_profiler.profiler.data import RunProfileData

    table = {name: int(ns) for name, ns in (pair.split("=") for pair in durations.split(","))}
    trace = Trace(path)
    truth = Truth(truth_path, [int(s.name.split("#")[1]) for s in trace.steps], table)
    data = RunProfileData.from_json("worker", "1", trace.raw)
    low, high = check_steps(trace, data)
    check_summary(trace, data, low, high)
    check_kernels(trace, truth, data)
    if trace.tb043:
        check_operators(trace, truth, data)
    for problem in problems[:30]:
        print(problem)
    print(f"{'tb043' if trace.tb043 else 'kineto'}: {len(trace.steps)} steps, "
          f"{len(trace.work)} pieces of GPU work, {len(data.op_list_groupby_name)} operators; "
          f"{len(problems)} differences")
    return 1 if problems or not trace.work else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
