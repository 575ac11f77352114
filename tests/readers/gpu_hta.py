#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu_hta.py FOLDER - HolisticTraceAnalysis on a trace with a GPU, checked by hand.

Temporal and idle breakdown, overlap, queue length, memory bandwidth and launch
statistics must equal sums over the file's own intervals; the critical path must run (what
is on it: gpu_path.py).
HTA rounds times to microseconds; the numbers are compared without that, and everything
is run once with it.
"""
import collections
import glob
import itertools
import logging
import os
import sys
import warnings

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from gpu_trace import Trace, covered, spans, sweep  # noqa: E402

problems = []


def same(what, by_hand, theirs, slack=0.02):
    if not abs(by_hand - theirs) <= slack + 1e-6 * abs(by_hand):
        problems.append(f"{what}: by hand {by_hand}, HTA says {theirs}")


def is_communication(work):
    return work.name.startswith("nccl") or "ncclKernel" in work.name


def is_compute(work):
    return work.cat == "kernel" and not is_communication(work)


def kept(trace):
    """HTA leaves the last step out, by the begin of the launching call."""
    if len({s.name for s in trace.steps}) < 2:
        return trace.work, trace.calls
    cut = max(s.begin for s in trace.steps)
    calls = [c for c in trace.calls if c.begin < cut]
    known = {c.correlation for c in calls}
    return [w for w in trace.work if w.correlation in known], calls


def check_temporal(analysis, work):
    row = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    whole = max(w.end for w in work) - min(w.begin for w in work)
    busy, compute = covered(work), covered([w for w in work if is_compute(w)])
    same("kernel time", whole / 1e3, row["kernel_time(us)"])
    same("idle time", (whole - busy) / 1e3, row["idle_time(us)"])
    same("compute time", compute / 1e3, row["compute_time(us)"])
    same("other time", (busy - compute) / 1e3, row["non_compute_time(us)"])


def check_idle(analysis, work):
    table, _ = analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
    found = table.groupby("stream")["idle_time"].sum().to_dict()
    streams = collections.defaultdict(list)
    for one in work:
        streams[one.args["stream"]].append(one)
    for stream, rows in streams.items():
        rows.sort(key=lambda w: w.begin)
        gaps = sum(b.begin - a.end for a, b in zip(rows, rows[1:]))
        if len(rows) > 1:
            same(f"stream {stream}: idle", gaps / 1e3, found[stream])


def check_overlap(analysis, work):
    if not any(map(is_communication, work)):
        return
    row = analysis.get_comm_comp_overlap(visualize=False).iloc[0]
    comm = [w for w in work if is_communication(w)]
    layers = {"comm": spans(comm), "comp": spans([w for w in work if is_compute(w)])}
    both = sum(b - a for a, b, seen in sweep(layers) if seen["comm"] > 0 and seen["comp"] > 0)
    same("overlap %", round(100 * both / covered(comm), 2), row["comp_comm_overlap_pctg"], 0.02)


def longest_queue(rows):
    return max(itertools.accumulate(change for _, change in rows))


def check_queue(analysis, work, calls):
    series = analysis.get_queue_length_time_series(ranks=[0])[0]
    # The release knows no cuLaunchKernelEx, with which NCCL launches.
    launches = {c.correlation: c for c in calls if c.name in (
        "cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cudaMemcpyAsync",
        "cudaMemsetAsync")}
    changes = collections.defaultdict(list)
    for one in work:
        if one.correlation in launches:
            changes[one.args["stream"]] += [(launches[one.correlation].begin, 1),
                                            (one.begin, -1)]
    same("streams with a queue", len(changes), series["stream"].nunique())
    for stream, rows in changes.items():
        # It sorts by time alone: of a launch and a begin in one ns either may come first.
        least = longest_queue(sorted(rows))
        most = longest_queue(sorted(rows, key=lambda row: (row[0], -row[1])))
        theirs = series[series["stream"] == stream]["queue_length"]
        same(f"stream {stream}: longest queue", min(max(least, theirs.max()), most), theirs.max())
        same(f"stream {stream}: queue at the end", 0, theirs.iloc[-1])
    assert analysis.get_queue_length_summary(ranks=[0]) is not None


def check_bandwidth(analysis, work):
    series = analysis.get_memory_bw_time_series(ranks=[0])[0]
    by_name = collections.defaultdict(list)
    for one in work:
        if one.cat != "kernel":
            by_name[one.name[:11] if one.cat == "gpu_memcpy" else "Memset"].append(one)
    for name, rows in by_name.items():
        theirs = series[series["name"].str.replace(" ", "").str.startswith(name.replace(" ", ""))]
        same(f"{name}: changes of bandwidth", 2 * len(rows), len(theirs))
        best = 0.0
        for _, _, seen in sweep({p: [(w.begin, w.end)] for p, w in enumerate(rows)}):
            best = max(best, sum(rows[p].args["bytes"] / rows[p].length
                                 for p, n in seen.items() if n > 0))
        same(f"{name}: highest bandwidth", best, theirs["memory_bw_gbps"].max(), 0.01)
    assert analysis.get_memory_bw_summary(ranks=[0]) is not None


def check_launches(analysis, work, calls):
    table = analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]
    by_correlation = {c.correlation: c for c in calls}
    wanted = {w.correlation: w for w in work
              if by_correlation[w.correlation].name == "cudaLaunchKernel"}
    seen = 0
    for _, row in table.iterrows():
        one = wanted.get(int(row["correlation"]))
        if one is None:
            continue
        call = by_correlation[one.correlation]
        seen += 1
        same(f"launch {one.correlation}: call", call.length / 1e3, row["cpu_duration"])
        same(f"launch {one.correlation}: kernel", one.length / 1e3, row["gpu_duration"])
        # A kernel that begins before its call returns has no delay, to HTA as well.
        same(f"launch {one.correlation}: delay", max(0, one.begin - call.end) / 1e3,
             row["launch_delay"], 0.05)
    same("launches", len(wanted), seen)


def run(folder):
    from hta.trace_analysis import TraceAnalysis

    return TraceAnalysis(trace_dir=folder)


def everything(folder):
    analysis = run(folder)
    for name in ("get_temporal_breakdown", "get_gpu_kernel_breakdown"):
        getattr(analysis, name)(visualize=False)
    analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
    analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)
    for name in ("get_queue_length_summary", "get_memory_bw_summary"):
        getattr(analysis, name)(ranks=[0])
    # Its last argument counts only steps that are kept.
    _, fine = analysis.critical_path_analysis(rank=0, annotation="ProfilerStep", instance_id=0)
    if not fine:
        problems.append("the critical path does not run")


def main(folder):
    (path,) = glob.glob(os.path.join(folder, "*.json*"))
    trace = Trace(path)
    work, calls = kept(trace)
    analysis = run(folder)
    check_temporal(analysis, work)
    check_idle(analysis, work)
    check_overlap(analysis, work)
    check_queue(analysis, work, calls)
    check_bandwidth(analysis, work)
    check_launches(analysis, work, calls)
    everything(folder)
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "0"
    everything(folder)
    for problem in problems[:30]:
        print(problem)
    print(f"HTA: {len(work)} pieces of GPU work; {len(problems)} differences")
    return 1 if problems or not work else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
