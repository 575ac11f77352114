# SPDX-License-Identifier: Apache-2.0
"""The GPU part of two traces, side by side: torch.profiler's and ours."""
import collections

from common import median

BEGIN, END = "fidelity::begin", "fidelity::end"
GPU = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")
# torch.profiler leaves these out.
SILENT = {"cudaGetDevice", "cudaSetDevice", "cudaGetLastError", "cudaEventCreate",
          "cudaEventCreateWithFlags", "cudaEventDestroy"}
KERNEL = ("grid", "block", "registers per thread", "shared memory", "device", "context", "stream")
COPY = ("bytes", "device", "context", "stream")


def ns(trace, value):
    return round(value * 1000) + trace.base


def window(trace):
    marks = {e["name"]: e for e in trace.slices if e["name"] in (BEGIN, END)
             and e["cat"] == "user_annotation"}
    assert set(marks) == {BEGIN, END}, f"{trace.path}: marks {set(marks)}"
    return marks[BEGIN]["ts"] + marks[BEGIN]["dur"], marks[END]["ts"]


def inside(trace):
    """Calls of the window in order of begin, and the GPU work that they launched."""
    low, high = window(trace)
    calls = [e for e in trace.of(*CALLS) if low <= e["ts"] <= high and e["name"] not in SILENT]
    known = {e["args"]["correlation"] for e in calls}
    work = [e for e in trace.of(*GPU) if e["args"]["correlation"] in known]
    work.sort(key=lambda e: (e["args"]["correlation"], e["ts"]))
    return calls, work


def what(event):
    keys = KERNEL if event["cat"] == "kernel" else COPY
    return (event["cat"], event["name"]) + tuple(str(event["args"].get(k)) for k in keys)


def owners(trace):
    return {e["args"]["External id"]: e["name"] for e in trace.of("cpu_op", "user_annotation")
            if "External id" in e.get("args", {})}


def same_process(theirs, ours):
    """Everything once in each, with equal arguments and times: {name: number}, problems."""
    problems, found = [], {}
    their_calls, their_work = inside(theirs)
    our_calls, our_work = inside(ours)
    found["GPU work"] = [len(their_work), len(our_work)]
    found["calls"] = [len(their_calls), len(our_calls)]
    if not their_work:
        return found, ["torch.profiler's trace has no GPU work"]
    lost = collections.Counter(map(what, their_work))
    lost.subtract(map(what, our_work))
    for row, count in list(lost.items()):
        if count:
            problems.append(f"{abs(count)} more in {'torch' if count > 0 else 'ours'}: {row}")
    mine = {e["args"]["correlation"]: e for e in our_work}
    lengths, begins, wrong_owner = [], [], 0
    their_names, our_names = owners(theirs), owners(ours)
    for event in their_work:
        other = mine.get(event["args"]["correlation"])
        if other is None or event["name"] != other["name"]:
            continue
        lengths.append(round(other["dur"] * 1000) - round(event["dur"] * 1000))
        begins.append(ns(ours, other["ts"]) - ns(theirs, event["ts"]))
        a = their_names.get(event["args"].get("External id"))
        b = our_names.get(other["args"].get("External id"))
        wrong_owner += a is not None and a != b
    found["compared by correlation"] = len(lengths)
    if lengths:
        found["durations differ by ns, at most"] = max(map(abs, lengths))
        found["begins differ by ns, median"] = median(begins)
        found["begins differ by ns, spread"] = max(begins) - min(begins)
    found["at another operator"] = wrong_owner
    if lengths and max(map(abs, lengths)) > 2:
        problems.append(f"durations differ by up to {max(map(abs, lengths))} ns")
    if wrong_owner:
        problems.append(f"{wrong_owner} of {len(lengths)} are at another operator")
    calls = collections.Counter(e["name"] for e in their_calls)
    calls.subtract(e["name"] for e in our_calls)
    missing = {name: count for name, count in calls.items() if count > 0}
    found["calls only torch has"] = missing
    launching = {name: n for name, n in missing.items() if "Launch" in name or "Mem" in name}
    if launching:
        problems.append(f"calls that launch, only in torch's: {launching}")
    return found, problems


def two_runs(theirs, ours):
    """Names, grids and counts exactly; durations by their distribution."""
    problems = []
    _, their_work = inside(theirs)
    _, our_work = inside(ours)
    keys = [collections.Counter((e["cat"], e["name"], str(e["args"].get("grid")),
                                 str(e["args"].get("block")), str(e["args"].get("bytes")))
                                for e in work) for work in (their_work, our_work)]
    for row in set(keys[0]) | set(keys[1]):
        if keys[0][row] != keys[1][row]:
            problems.append(f"{row}: torch {keys[0][row]}, ours {keys[1][row]}")
    lengths = collections.defaultdict(lambda: ([], []))
    for side, work in enumerate((their_work, our_work)):
        for event in work:
            lengths[event["name"]][side].append(event["dur"])
    ratios = {name[:60]: round(median(b) / median(a), 3) for name, (a, b) in lengths.items()
              if len(a) >= 5 and len(b) >= 5 and median(a) > 0}
    odd = {name: ratio for name, ratio in ratios.items() if not 0.8 <= ratio <= 1.25}
    if len(odd) > max(1, len(ratios) // 10):
        problems.append(f"median durations differ: {odd}")
    return {"names": len(lengths), "median ratio of durations": median(list(ratios.values())),
            "odd ratios": odd, "GPU work": [len(their_work), len(our_work)]}, problems
