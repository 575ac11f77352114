#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""Two contexts on one device: each has a stream 7 of its own, and both are at work at once."""
import sys

import cuda
import prof

STEPS = 6
FAKE = {"KERNELS": "*alpha*=20000000,*beta*=30000000", "COPY_NS": 1000}


def end(event):
    return cuda.ns(event["ts"]) + cuda.ns(event["dur"])


def lanes(trace):
    """(pid, tid) -> slices in order; on one row nothing overlaps."""
    rows = {}
    for work in cuda.of(trace, *cuda.WORK):
        rows.setdefault((work["pid"], work["tid"]), []).append(work)
    for row in rows.values():
        for one, after in zip(row, row[1:]):
            assert end(one) <= cuda.ns(after["ts"]), (one, after)
    return rows


def check(trace, steps):
    kernels, sets = cuda.of(trace, "kernel"), cuda.of(trace, "gpu_memset")
    of_context = {}
    for kernel in kernels:
        of_context.setdefault(kernel["args"]["context"], []).append(kernel)
    by_name = {rows[0]["name"][0]: context for context, rows in of_context.items()}
    assert sorted(by_name) == ["a", "b"] and len(of_context) == 2, of_context
    for name, context in by_name.items():
        mine = of_context[context]
        assert [k["name"][0] for k in mine] == [name] * steps, mine
        assert {cuda.ns(k["dur"]) for k in mine} == {20_000_000 if name == "a" else 30_000_000}, mine
        filled = [s["args"]["bytes"] for s in sets if s["args"]["context"] == context]
        assert filled == [256 if name == "a" else 512] * steps, sets
    work = kernels + sets
    assert {w["args"]["stream"] for w in work} == {7} and {w["pid"] for w in work} == {0}, work
    assert [d["id"] for d in trace.raw["deviceProperties"]] == [0], trace.raw["deviceProperties"]
    # Both are at work at once, where a busy machine lets the second launch come in time.
    launched = {call["args"]["correlation"]: end(call) for call in cuda.of(trace, *cuda.CALLS)}
    both = [(k, other) for k, other in zip(of_context[by_name["a"]], of_context[by_name["b"]])
            if launched[other["args"]["correlation"]] < end(k)]
    for k, other in both:
        assert cuda.ns(k["ts"]) < end(other) and cuda.ns(other["ts"]) < end(k), (k, other)
    rows = len(lanes(trace))
    assert rows == 2 or not both, "they overlap: two rows"
    return len(both)


def test_two_contexts_on_one_device():
    overlaps = 0
    for version in cuda.VERSIONS:
        status, out = cuda.without(version, "contexts", STEPS, **FAKE)
        with prof.folder() as log:
            run = cuda.run(version, "contexts", STEPS, log, fake=FAKE, cuda_sync=True,
                           schedule="wait=1,active=2,repeat=2")
            assert (run.status, run.out) == (status, out), (version, run.out, run.err)
            traces = run.traces()
            assert [t.steps() for t in traces] == [[1, 2], [4, 5]], (version, run.err)
            for trace in traces:
                overlaps += check(trace, 2)
                cuda.whole(trace)
                # A wait for all of a context is of that context, on its device.
                waits = [s["args"] for s in cuda.of(trace, "cuda_sync")]
                assert len({w["context"] for w in waits}) == 2, waits
                assert {w["device"] for w in waits} == {0}, waits
            prof.strict(run.paths())
    assert overlaps, "no launch came in time"


prof.main(sys.modules[__name__])
