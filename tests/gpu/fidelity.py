# SPDX-License-Identifier: Apache-2.0
"""The GPU part of two traces, side by side: torch.profiler's and ours.

In one process both are made of the same buffers: the same records, and times that differ
by one constant in the whole file, the two clocks' distance.  How exactly is told by what
torch.profiler does: with a clock of its own (CLOCK: ticks of the processor, turned into ns
by it, out of CUPTI's ns by us) two lines lie in between.
"""
import collections
import copy

from common import Site, median

BEGIN, END = "fidelity::begin", "fidelity::end"
GPU = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")
# torch.profiler leaves these out.
SILENT = {"cudaGetDevice", "cudaSetDevice", "cudaGetLastError", "cudaEventCreate",
          "cudaEventCreateWithFlags", "cudaEventDestroy"}
KERNEL = ("grid", "block", "registers per thread", "shared memory", "device", "context", "stream")
COPY = ("bytes", "device", "context", "stream")
EXACT = 2  # ns: each of two ends is rounded
CLOCK = (2, 4)  # the torch release from which its profiler has a clock of its own
CLOCK_NS, CLOCK_PART = 1000, 2e-5  # what its lines and ours may be off: of a moment, of a length
# A call that begins or ends with its operator is cut by us, so that rows nest: a few.
CUT_PART = 0.02


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


def pairs(theirs, ours):
    """The same record in both: by correlation and name, in order where a graph has many."""
    def keyed(events):
        found, seen = {}, collections.Counter()
        for event in events:
            key = (event["args"]["correlation"], event["cat"], event["name"])
            found[(*key, seen[key])] = event
            seen[key] += 1
        return found
    mine = keyed(ours)
    return [(event, mine[key]) for key, event in keyed(theirs).items() if key in mine]


def own_clock():
    """Has torch.profiler here a clock of its own?"""
    release = Site.torch.get("version", "0.0").split(".")[:2]
    return tuple(int("".join(filter(str.isdigit, part)) or 0) for part in release) >= CLOCK


def ends(trace, event):
    """Begin and end in ns."""
    if "ns" in event:
        return event["ns"]
    begin = round(event["ts"] * 1000) + trace.base
    return begin, begin + round(event["dur"] * 1000)


def times(name, theirs, ours, both):
    """How far moments and lengths of the pairs are off, and what is too far."""
    begins, lengths, too_long, own = [], [], 0, own_clock()
    for one, other in both:
        (a, b), (c, d) = ends(theirs, one), ends(ours, other)
        begins.append(c - a)
        lengths.append((d - c) - (b - a))
        too_long += abs(lengths[-1]) > EXACT + (CLOCK_PART * (b - a) if own else 0)
    if not both:
        return {}, [f"{name}: no pairs"]
    coarse = all(ends(theirs, one)[0] % 1000 == 0 for one, _ in both)  # whole us, of an old torch
    constant, allowed = median(begins), CLOCK_NS if own or coarse else EXACT
    far = [abs(one - constant) for one in begins]
    problems = []
    if max(far) > allowed:
        problems.append(f"{name}: {sum(one > allowed for one in far)} of {len(far)} begins are up to "
                        f"{max(far)} ns off beside the constant {constant}; allowed {allowed}")
    most = CLOCK_NS if name == "calls" else 0
    if too_long > CUT_PART * len(lengths) * bool(most) or \
            too_long and max(map(abs, lengths)) > most:
        problems.append(f"{name}: {too_long} of {len(lengths)} lengths differ, by up to "
                        f"{max(map(abs, lengths))} ns")
    return {"compared": len(both), "constant ns": constant, "begins off beside it, ns, at most": max(far),
            "exactly there": sum(one <= EXACT for one in far),
            "lengths differ by ns, at most": max(map(abs, lengths))}, problems


def same_rows(theirs, ours):
    lost = collections.Counter(map(what, theirs))
    lost.subtract(map(what, ours))
    return [f"{abs(count)} more in {'torch' if count > 0 else 'ours'}: {row}"
            for row, count in lost.items() if count]


def same_process(theirs, ours):
    """Everything once in each, with equal arguments and times: {name: number}, problems."""
    found = {}
    their_calls, their_work = inside(theirs)
    our_calls, our_work = inside(ours)
    found["GPU work"], found["calls"] = ([len(their_work), len(our_work)],
                                         [len(their_calls), len(our_calls)])
    if not their_work:
        return found, ["torch.profiler's trace has no GPU work"]
    problems = same_rows(their_work, our_work)
    work = pairs(their_work, our_work)
    if len(work) != len(their_work):
        problems.append(f"{len(their_work) - len(work)} pieces of GPU work have no partner")
    their_names, our_names = owners(theirs), owners(ours)
    wrong = [one["name"] for one, other in work if one["args"].get("External id") in their_names
             and their_names[one["args"]["External id"]] != our_names.get(other["args"].get("External id"))]
    found["at another operator"] = len(wrong)
    if wrong:
        problems.append(f"{len(wrong)} of {len(work)} are at another operator: {wrong[:3]}")
    calls = pairs(their_calls, our_calls)
    for name, both in (("GPU work", work), ("calls", calls)):
        found[f"times of {name}"], more = times(name, theirs, ours, both)
        problems += more
    paired = {id(one) for one, _ in calls}
    missing = collections.Counter(one["name"] for one in their_calls if id(one) not in paired)
    found["calls only torch has"] = dict(missing)
    launching = {name: n for name, n in missing.items() if "Launch" in name or "Mem" in name}
    if launching:
        problems.append(f"calls that launch, only in torch's: {launching}")
    return found, problems


def two_runs(theirs, ours):
    """Names, grids and counts exactly; durations by their distribution."""
    _, their_work = inside(theirs)
    _, our_work = inside(ours)
    problems = [] if their_work else ["torch.profiler's trace has no GPU work"]
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


# ---- does it see what it is for? ----

class Made:
    """A small trace: 20 launches inside the window, a kernel each."""

    def __init__(self, base):
        self.path, self.base, self.slices = "made", base, []
        self.add("user_annotation", BEGIN, 0, 1)
        for n in range(20):
            args = {"correlation": n + 1, "External id": n + 1}
            self.add("cpu_op", f"op{n % 3}", 10 * n + 10, 8, {"External id": n + 1})
            self.add("cuda_runtime", "cudaLaunchKernel", 10 * n + 11.001, 2.5, args)
            self.add("kernel", "k", 10 * n + 20.125, 5.003, {**args, "grid": [n, 1, 1], "stream": 7})
        self.add("user_annotation", END, 300, 1)

    def add(self, cat, name, ts, dur, args=None):
        self.slices.append({"cat": cat, "name": name, "ts": ts, "dur": dur, "args": args or {}})

    def of(self, *kinds):
        return [e for e in self.slices if e["cat"] in kinds]


def covered():
    """Two equal traces have no problems; each change in one is one. 0 or 1."""
    theirs, known = Made(1000), Site.torch
    changes = {
        "nothing": lambda t: None,
        "another base": lambda t: setattr(t, "base", 1777),
        "a kernel begins 3 ns later": lambda t: t.of("kernel")[5].update(ts=70.128),
        "a kernel is 3 ns longer": lambda t: t.of("kernel")[5].update(dur=5.006),
        "a call begins 3 ns later": lambda t: t.of("cuda_runtime")[5].update(ts=61.004),
        "a call is 3 ns longer": lambda t: t.of("cuda_runtime")[5].update(dur=2.503),
        "a kernel less": lambda t: t.slices.remove(t.of("kernel")[5]),
        "a call less": lambda t: t.slices.remove(t.of("cuda_runtime")[5]),
        "another stream": lambda t: t.of("kernel")[5]["args"].update(stream=8),
        "another grid": lambda t: t.of("kernel")[5]["args"].update(grid=[1, 2, 3]),
        "another operator": lambda t: t.of("kernel")[5]["args"].update({"External id": 5}),
    }
    bad = []
    Site.torch = {"version": "2.3.0"}
    for name, change in changes.items():
        ours = copy.deepcopy(theirs)
        change(ours)
        problems = same_process(theirs, ours)[1]
        if bool(problems) == (name in ("nothing", "another base")):
            bad.append(f"fidelity, {name}: {problems}")
    empty = copy.deepcopy(theirs)
    empty.slices = [e for e in empty.slices if e["cat"] == "user_annotation"]
    if not two_runs(empty, empty)[1] or two_runs(theirs, theirs)[1]:
        bad.append("fidelity: two runs without GPU work are equal")
    Site.torch = known
    print("\n".join(bad), end="\n" if bad else "")
    return 1 if bad else 0
