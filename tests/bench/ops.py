#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs N one-operator calls in one window and leaves without formatting anything.

With --who proflaunch the process ends by os._exit, so that `proflaunch recover` does all
the writing and can be timed alone. With --who torch.profiler stop and export are timed
here. Prints one JSON object: operators, seconds in the loop, growth of memory.
"""
import argparse
import json
import os
import resource
import sys
import tempfile
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--who", required=True)
parser.add_argument("--ops", type=int, default=1_000_000)
parser.add_argument("--shapes", action="store_true")
args = parser.parse_args()
torch.set_num_threads(1)
x, y = torch.ones(1), torch.ones(1)


def rss():
    with open("/proc/self/smaps_rollup") as f:
        fields = dict(line.split(":", 1) for line in f if ":" in line and "-" not in line.split()[0])
    return int(fields["Rss"].split()[0]) * 1024, int(fields["Anonymous"].split()[0]) * 1024


def loop():
    add = x.add_
    begin = time.perf_counter_ns()
    for _ in range(args.ops):
        add(y)
    return (time.perf_counter_ns() - begin) / args.ops


def cpu():
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime


result = {"who": args.who, "ops": args.ops, "shapes": args.shapes}
if args.who == "torch.profiler":
    from torch.profiler import ProfilerActivity, profile
    before, _ = rss()
    p = profile(activities=[ProfilerActivity.CPU], record_shapes=args.shapes)
    p.start()
    result["ns_per_op"] = loop()
    begin = cpu()
    p.stop()
    with tempfile.TemporaryDirectory() as d:
        p.export_chrome_trace(d + "/t.json")
        result["bytes_per_op"] = os.path.getsize(d + "/t.json") / args.ops
        p.export_chrome_trace(d + "/t.json.gz") if False else None
        os.system(f"gzip -1 -k {d}/t.json")
        result["gz_bytes_per_op"] = os.path.getsize(d + "/t.json.gz") / args.ops
    result["cpu_us_per_op"] = (cpu() - begin) / args.ops * 1e6
    result["memory_per_op"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before) / args.ops
    print(json.dumps(result))
else:
    loop_bytes, anon = rss()
    result["ns_per_op"] = loop()
    result["anon_growth"] = rss()[1] - anon
    result["rss_growth"] = rss()[0] - loop_bytes
    print(json.dumps(result), flush=True)
    sys.stdout.flush()
    os._exit(0)
