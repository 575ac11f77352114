# SPDX-License-Identifier: Apache-2.0
"""plugin_views.py modules TRACE... | ranks TRACE... - what TensorBoard's plugin 0.4.3 makes of modules and ranks, as JSON.

It is given `cuda_runtime` as what it knows, and, for ranks, annotations as operators; all else as it is.
"""
import json
import logging
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

# pylint: disable=wrong-import-position
import plugin_steps
from torch_tb_profiler.profiler.data import DistributedRunProfileData, RunProfileData
from torch_tb_profiler.profiler.loader import RunLoader
from torch_tb_profiler.profiler.module_op import aggegate_module_view

logging.disable(logging.CRITICAL)


def read(path, annotations, number):
    trace = plugin_steps.load(path)
    for event in trace["traceEvents"]:
        if event.get("cat") == "cuda_runtime":
            event["cat"] = "Runtime"
        elif event.get("cat") == "user_annotation" and annotations:
            event["cat"] = "cpu_op"
    return RunProfileData.from_json(f"worker{number}", "1", trace)


def modules(path):
    """Numbers of each name: the plugin has them again at each of its places."""
    found = {}

    def take(stats):
        for one in stats:
            found[one.name] = [one.occurences, one.operators, one.host_duration, one.self_host_duration,
                               one.device_duration, one.self_device_duration]
            take(one.children)

    data = read(path, False, 0)
    take(aggegate_module_view(data.tid2tree, data.events) or [])
    return found


def ranks(paths):
    loader = RunLoader.__new__(RunLoader)
    loader.run_name = "run"
    all_data = [DistributedRunProfileData(read(path, True, number)) for number, path in enumerate(paths)]
    # It turns numbers into rounded ones for its charts: those before are compared.
    loader._process_distributed_profiles(all_data, None)  # pylint: disable=protected-access
    return [{"steps": {name: [cost.computation, cost.overlap, cost.communication, cost.other]
                       for name, cost in zip(data.steps_names, data.comm_overlap_costs)},
             "waits": {name: stats for name, stats in (data.step_comm_stats or {}).items() if name},
             "collectives": data.total_comm_stats} for data in all_data]


if sys.argv[1] == "modules":
    json.dump([modules(path) for path in sys.argv[2:]], sys.stdout)
else:
    json.dump(ranks(sys.argv[2:]), sys.stdout)
