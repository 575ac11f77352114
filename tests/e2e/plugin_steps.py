#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plugin_steps.py TRACE... - what TensorBoard's plugin 0.4.3 makes of steps and GPUs, as JSON.

The released plugin is given what the last main understands, and what of its answers is an
accident is put right here, or not shown to it.  This is the list, and all of it:

* it ignores `cuda_runtime`, `cuda_driver` and `user_annotation`: they are spelled as what
  it knows.  Main does not know `cuda_driver` either; for us a launch by the driver is one.
* it knows an NCCL kernel only by the "External id" of an event with one of ten names, where
  torch's own files have that of `record_param_comms`: the kernel gets the number of such an
  event, of no length, that is added.
* an annotation on the GPU's rows is CPU time to it, and a second step or collective if it has
  such a name: left out.
* once a share has filled all steps the rest are counted in full (`if slots:` in
  overall_parser.py): where that is so, that one function is replaced.
"""
import decimal
import gzip
import json
import logging
import sys

logging.disable(logging.CRITICAL)

# pylint: disable=wrong-import-position
from torch_tb_profiler.profiler import overall_parser
from torch_tb_profiler.profiler.data import RunProfileData

SHARES = ("Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader", "CPU Exec",
          "Other")
OF_NCCL = 7_777_777
Statistics = overall_parser.OverallParser.Statistics
as_released = Statistics.create_from_range


def put_right(steps, role_ranges):
    """The released function, unless nothing is free before the last share."""
    free = overall_parser.merge_ranges(list(steps))
    ranges, emptied = [], False
    for role in role_ranges:
        emptied = emptied or not free
        ranges.append(overall_parser.intersection_ranges_lists(free, role))
        free = overall_parser.subtract_ranges_lists(free, ranges[-1])
    put_right.emptied = emptied
    return Statistics(ranges + [free]) if emptied else as_released(steps, role_ranges)


def load(path):
    """Times from the first one on: a double has no room for the digits of torch's."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        trace = json.load(file, parse_float=decimal.Decimal)
    base = min(e["ts"] for e in trace["traceEvents"] if e["ph"] == "X")
    for event in trace["traceEvents"]:
        for key, off in ("ts", base), ("dur", 0):
            if key in event:
                event[key] = float(event[key] - off)
        for key, value in event.get("args", {}).items():
            if isinstance(value, decimal.Decimal):
                event["args"][key] = float(value)
    return trace


def respell(trace):
    events = [e for e in trace["traceEvents"] if e.get("cat") != "gpu_user_annotation"]
    nccl = [e for e in events if e.get("cat", "").lower() == "kernel" and
            e["name"].startswith(("ncclDevKernel", "ncclKernel"))]
    for event in nccl:
        event["args"]["External id"] = OF_NCCL
    for event in events:
        if event.get("cat") in ("cuda_runtime", "cuda_driver"):
            event["cat"] = "Runtime"
        elif event.get("cat") == "user_annotation":
            event["cat"] = "cpu_op"
    if nccl:
        first = min((e for e in events if e.get("cat") in ("cpu_op", "Operator")),
                    key=lambda e: e["ts"])
        events.append({"ph": "X", "cat": "cpu_op", "name": "nccl:all_reduce", "pid": first["pid"],
                       "tid": 999, "ts": first["ts"], "dur": 0, "args": {"External id": OF_NCCL}})
    trace["traceEvents"] = events


def numbers(path):
    trace = load(path)
    respell(trace)
    data = RunProfileData.from_json("worker", "1", trace)
    gpu = data.gpu_metrics_parser
    return {
        "replaced": put_right.emptied, "gpu": data.has_runtime or data.has_kernel or data.has_memcpy_or_memset,
        "communication": data.has_communication,
        "steps": [{"number": int(name), **dict(zip(SHARES + ("length",), costs.costs))}
                  for name, costs in zip(data.steps_names, data.steps_costs)],
        "means": dict(zip(SHARES, data.avg_costs.costs)),
        "devices": [{"id": number, "utilization": gpu.gpu_utilization[number],
                     "sm_efficiency": gpu.avg_approximated_sm_efficiency_per_device[number],
                     "occupancy": gpu.avg_occupancy_per_device[number]}
                    for number in sorted(gpu.gpu_ids)]}


Statistics.create_from_range = put_right

if __name__ == "__main__":
    json.dump([numbers(path) for path in sys.argv[1:]], sys.stdout)
