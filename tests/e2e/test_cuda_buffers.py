#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""Buffers that come back: CUPTI is promised that they are zero, and what does not apply to a
record it does not write. More is recorded than all buffers hold, so that each is used again,
where another record's graph, times and pool were.
"""
import collections
import sys

import cuda
import prof

# Version -> megabytes that CUPTI has, steps: one buffer holds 1 MiB or, before 12, 4.
PLANS = {"11.8": (8, 600), "12.8": (4, 330), "13.0": (4, 330), cuda.NEWEST: (4, 330)}
FAKE = {"SPARSE": 1, "KERNEL_NS": 500, "COPY_NS": 100, "LATENCY_NS": 0}
BYTES = 40  # of another record, at least


def launched(steps):
    """Of each of mode `mixed`'s ten graphs: three kernels; then one to seven that are not."""
    plain = sum(10 * (n % 7 + 1) for n in range(steps))
    return {"beta": plain + 10 * steps, "alpha": 10 * steps, "gamma": 10 * steps}


def lost(trace):
    """Records that had no buffer: where the machine is busy CUPTI fills them faster than our
    thread, which gets no processor, gives them back."""
    facts = cuda.gpu_facts(trace)
    return facts.get("dropped by CUPTI", 0) + facts.get("discarded for want of a buffer", 0)


def check(trace, steps, latency):
    """All is there, or counted as lost."""
    calls = {call["args"]["correlation"]: call["name"] for call in cuda.of(trace, *cuda.CALLS)}
    nodes = collections.defaultdict(set)
    graphs = set()
    for work in cuda.of(trace, *cuda.WORK):
        args = work["args"]
        assert args["correlation"] in calls or lost(trace), work
        if args["correlation"] not in calls:
            continue
        if calls[args["correlation"]] == "cudaGraphLaunch":
            nodes[work["name"]].add(args["graph node id"])
            graphs.add(args["graph id"])
        else:
            assert "graph id" not in args and "graph node id" not in args, work
        if work["cat"] == "kernel":
            assert bool(args["queued"]) == latency and ("submitted" in args) == latency, work
    assert len(graphs) == 1 and sorted(map(len, nodes.values())) == [1, 1, 1], (graphs, nodes)
    assert len(set.union(*nodes.values())) == 3, nodes
    found = collections.Counter(k["name"].split("(")[0] for k in cuda.of(trace, "kernel"))
    missing = sum((collections.Counter(launched(steps)) - found).values())
    assert missing <= lost(trace) and not found - collections.Counter(launched(steps)), \
        (found, launched(steps), cuda.gpu_facts(trace))
    if lost(trace):
        print(f"{lost(trace)} records had no buffer, as the file says")


def test_nothing_of_the_last_record_is_left():
    for version, (megabytes, steps) in PLANS.items():
        with prof.folder() as log:
            run = cuda.run(version, "mixed", steps, log, fake=FAKE, marker="none",
                           cuda_buffer_mb=megabytes)
            trace = run.only()
            check(trace, steps, latency=False)
            counts = cuda.counts(trace)
            others = sum(cuda.counts(trace, cuda.WORK[1:] + cuda.CALLS).values())
            size = counts["kernel"] * trace.facts["facts"]["cuda"]["kernel_bytes"] + others * BYTES
            size += lost(trace) * BYTES
            assert size > 1.2 * megabytes * 2**20, (version, size, "no buffer is used twice")


def test_with_latency_in_windows():
    """Each window's end hands all buffers back, and the next one has them again."""
    for version in PLANS:
        with prof.folder() as log:
            run = cuda.run(version, "mixed", 28, log, fake=FAKE, schedule="active=7,repeat=4",
                           cuda_latency=True)
            traces = run.traces()
            assert [t.steps() for t in traces] == [[*range(n, n + 7)] for n in (0, 7, 14, 21)]
            for trace in traces:
                check(trace, 7, latency=True)
                if not lost(trace):
                    cuda.whole(trace)
            prof.strict(run.paths())


prof.main(sys.modules[__name__])
