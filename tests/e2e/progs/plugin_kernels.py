# SPDX-License-Identifier: Apache-2.0
"""plugin_kernels.py FILE... - the kernel table of TensorBoard's plugin, a list a file: name, calls, sum,
least, most, blocks per SM, occupancy."""
import json
import sys

from torch_tb_profiler.profiler import trace
from torch_tb_profiler.profiler.kernel_parser import KernelParser


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        events = [trace.create_event(event, False) for event in json.load(file)["traceEvents"]]
    parser = KernelParser()
    parser.parse_events([event for event in events if event is not None])
    return [[name, int(row["count"]), row["sum"], row["min"], row["max"], float(row["blocks_per_sm"] or 0),
             float(row["occupancy"] or 0)] for name, row in parser.kernel_stat.iterrows()]


json.dump([rows_of(path) for path in sys.argv[1:]], sys.stdout)
