#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tell.py LOGDIR - where the traces are, and what the newest of each process says."""
import collections
import glob
import gzip
import json
import os
import sys


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def tell(path):
    trace = load(path)
    slices = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] != "Trace"]
    steps = sorted((e for e in slices if e["name"].startswith("ProfilerStep#")),
                   key=lambda e: e["ts"])
    operators = [e for e in slices if e["name"].startswith("aten::")]
    memory = [e["args"]["Total Allocated"] for e in trace["traceEvents"]
              if e["name"] == "[memory]"]
    print(f"{path}: {os.path.getsize(path) / 1e6:.1f} MB, {len(slices)} events on "
          f"{len({e['tid'] for e in slices})} threads, {len(steps)} steps")
    for step in steps:
        print(f"  {step['name']:<20} {step['dur'] / 1000:9.2f} ms")
    total, calls = collections.Counter(), collections.Counter()
    for event in operators:
        total[event["name"]] += event["dur"]
        calls[event["name"]] += 1
    print("  most time, with what they call:")
    for name, us in total.most_common(5):
        print(f"    {name:<32} {us / 1000:9.2f} ms in {calls[name]} calls")
    if memory:
        print(f"  tensor memory at its peak: {max(memory) / 2 ** 20:.1f} MiB")


def main(logdir):
    paths = sorted(glob.glob(os.path.join(glob.escape(logdir), "*.pt.trace.json*")),
                   key=os.path.getmtime)
    if not paths:
        print(f"no traces in {logdir}")
        return 1
    tell(paths[-1])
    if len(paths) > 1:
        print(f"and {len(paths) - 1} more traces in {logdir}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
