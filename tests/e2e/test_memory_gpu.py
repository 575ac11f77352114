#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of GPUs: what the allocator of libc10_cuda reports, and CUDA's own allocations.

Without a GPU the reports come from a program that calls what libc10_cuda calls.
"""
import json
import os
import sys

import cuda
import prof

PROGRAM = """
import ctypes, sys, torch
names = ctypes.CDLL(None)
def function(name, *types):
    f = getattr(names, "_ZN3c10" + name, None) or getattr(names, "_ZN3c10" + name.replace("mm", "ll"))
    f.argtypes = types
    return f
signed, size, device = ctypes.c_long, ctypes.c_ulong, ctypes.c_uint16
report = function("27reportMemoryUsageToProfilerEPvlmmNS_6DeviceE", ctypes.c_void_p, signed, size, size, device)
exhausted = function("27reportOutOfMemoryToProfilerElmmNS_6DeviceE", signed, size, size, device)
def change(gpu, block, bytes):
    live[gpu] += bytes
    most[gpu] = max(most[gpu], live[gpu])
    report(0x7f0000000000 + (gpu << 32) + (block << 20), bytes, live[gpu], 2 * most[gpu], 1 | gpu << 8)
live, most = [0, 0], [0, 0]
with torch.profiler.profile(profile_memory=True) as profiler:
    for block in range(20):
        for gpu in (0, 1):
            with torch.profiler.record_function(f"block {block}"):
                change(gpu, block, 1000 * (block + 1) * (gpu + 1))
    for block in range(10):
        for gpu in (0, 1):
            change(gpu, block, -1000 * (block + 1) * (gpu + 1))
    exhausted(1 << 50, live[1], 2 * most[1], 1 | 1 << 8)
profiler.export_chrome_trace(sys.argv[1])
"""
MOST = [210000, 420000]
END = [155000, 310000]
KEYS = ("Bytes", "Addr", "Device Type", "Device Id", "Total Allocated", "Total Reserved")


def reports(events):
    return [(e["name"], *(e["args"].get(key) for key in KEYS))
            for e in events if e["name"] in ("[memory]", "[OutOfMemory]") and e["args"]["Device Type"] == 1]


def track(trace, name):
    return [e["args"] for e in trace.raw["traceEvents"] if e["ph"] == "C" and e["name"] == name]


def test_tensors_of_each_gpu_are_torch_s():
    with prof.folder() as log:
        theirs = os.path.join(log, "theirs.json")
        trace = prof.launch([os.path.join(prof.BUILD, "venv/bin/python"), "-c", PROGRAM, theirs], log,
                            marker="none", profile_memory=True).only()
        with open(theirs, encoding="utf-8") as file:
            want = reports(json.load(file)["traceEvents"])
        assert len(want) == 61 and reports(trace.raw["traceEvents"]) == want, want
        for gpu in (0, 1):
            points = track(trace, f"Tensor memory (GPU {gpu})")
            assert max(p["allocated"] for p in points) == MOST[gpu], points
            assert points[-1] == {"allocated": END[gpu], "reserved": 2 * MOST[gpu]}, points[-1]
        tables = json.loads(prof.plain([prof.LAUNCHER, "memory", "--json", trace.path]).stdout)
        found = {s["space"]: s for s in tables["spaces"]}
        for gpu in (0, 1):
            space = found[f"cuda:{gpu}"]
            assert (space["peak"], space["end"]) == (MOST[gpu], END[gpu]), space
            assert space["reserved"] == 2 * MOST[gpu], space
            assert space["out_of_memory"] == gpu, space


def test_device_memory_has_a_track():
    """cudaMalloc and cudaFree, with cuda_memory on."""
    with prof.folder() as log:
        trace = cuda.run(cuda.NEWEST, "loop", 2, log, marker="none", cuda_memory=True).only()
        points = [p["cudaMalloc"] for p in track(trace, "Device memory (GPU 0)")]
        assert points and max(points) == 1 << 20, points


prof.main(sys.modules[__name__])
