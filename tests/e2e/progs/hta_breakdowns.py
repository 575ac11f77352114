# SPDX-License-Identifier: Apache-2.0
"""hta_breakdowns.py FOLDER - HTA's breakdowns of the ranks' GPUs, as JSON: {rank: {...}}."""
import json
import logging
import sys
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

# pylint: disable=wrong-import-position
from hta.trace_analysis import TraceAnalysis

analysis = TraceAnalysis(trace_dir=sys.argv[1])
times = analysis.get_temporal_breakdown(visualize=False)
found = {int(row["rank"]): {"busy": row["kernel_time(us)"] - row["idle_time(us)"], "compute": row["compute_time(us)"], "kernels": {}}
         for _, row in times.iterrows()}
for _, row in analysis.get_comm_comp_overlap(visualize=False).iterrows():
    found[int(row["rank"])]["overlap"] = row["comp_comm_overlap_pctg"]
for _, row in analysis.get_gpu_kernel_breakdown(visualize=False)[1].iterrows():
    found[int(row["rank"])]["kernels"][row["name"]] = [row["sum (us)"], row["max (us)"], row["min (us)"]]
json.dump(found, sys.stdout, default=float)
