#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu_tell.py TRACE - what a trace shows of the GPU; exit status 1 when it shows too little."""
import collections
import gzip
import json
import os
import sys

GPU = ("kernel", "gpu_memcpy", "gpu_memset")


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def table(title, events, extra=lambda rows: ""):
    """Time by name, longest first."""
    rows = collections.defaultdict(list)
    for event in events:
        rows[event["name"]].append(event)
    if rows:
        print(f"  {title}:")
    for name, some in sorted(rows.items(), key=lambda row: -sum(e["dur"] for e in row[1]))[:6]:
        print(f"    {name:<56} {sum(e['dur'] for e in some) / 1000:9.3f} ms in "
              f"{len(some)}{extra(some)}")


def traffic(rows):
    size, us = sum(e["args"]["bytes"] for e in rows), sum(e["dur"] for e in rows)
    return f", {size / 2 ** 20:.2f} MiB" + (f", {size / us / 1000:.1f} GB/s" if us else "")


def tell(path):
    trace = load(path)
    slices = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] != "Trace"]
    kinds = collections.defaultdict(list)
    for event in slices:
        kinds[event["cat"]].append(event)
    steps = [e for e in slices if e["name"].startswith("ProfilerStep#") and "device" not in
             e.get("args", {})]
    work = [e for cat in GPU for e in kinds[cat]]
    rows = sorted({(e["args"].get("device"), e["args"]["stream"]) for e in work}, key=str)
    print(f"{path}: {os.path.getsize(path) / 1e3:.1f} kB, {len(slices)} events, "
          f"{len(steps)} steps")
    for device in trace.get("deviceProperties", []):
        print(f"  GPU {device.get('id')}: {device.get('name')}, "
              f"compute capability {device.get('computeMajor')}.{device.get('computeMinor')}")
    print("  streams: " + ", ".join(f"{stream} of GPU {gpu}" for gpu, stream in rows))
    table("kernels", kinds["kernel"])
    table("copies", kinds["gpu_memcpy"], traffic)
    table("sets", kinds["gpu_memset"])
    table("runtime and driver calls", kinds["cuda_runtime"] + kinds["cuda_driver"])
    ends = collections.defaultdict(set)
    for event in trace["traceEvents"]:
        if event["ph"] in "sf" and event.get("cat") in ("ac2g", "async_cpu_to_gpu"):
            ends[event["id"]].add(event["ph"])
    flows = sum(both == {"s", "f"} for both in ends.values())
    print(f"  arrows from call to GPU: {flows} for {len(work)} pieces of GPU work")
    lacks = [kind for kind in (*GPU, "cuda_runtime") if not kinds[kind]]
    if not flows:
        lacks.append("arrows")
    if lacks:
        print(f"  missing: {', '.join(lacks)}")
    return 1 if lacks else 0


if __name__ == "__main__":
    sys.exit(tell(sys.argv[1]))
