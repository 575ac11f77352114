#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
# run: full
"""A training loop with its heap recorded: the program is as it was, the numbers are a
reference allocator's and torch's own.
"""
import bisect
import collections
import os
import subprocess
import sys

import heap_fidelity as fidelity
import prof

PYTHON = os.path.join(prof.BUILD, "venv", "bin", "python")
HEAP_PROGRAMS = os.path.join(prof.HERE, "..", "programs")
TRAIN = [PYTHON, os.path.join(HEAP_PROGRAMS, "heap_train.py")]
SCHEDULE = "wait=1,active=3,repeat=1"
CHECK = os.path.join(prof.HERE, "..", "fidelity", "check.sh")
BIRTHS = range(256, 1025, 16)  # bytes of a thread's table of modules (dtv)
EDGE_NS = 50_000  # how far the window's written edges may be from when the gate moved


def train(log, **given):
    return prof.launch(TRAIN, log, check=False,
                       **{"malloc": "all", "schedule": SCHEDULE, "buffer_mb": 2048, **given})


def test_the_program_is_as_it_was():
    alone = prof.plain(TRAIN)
    assert alone.returncode == 3, alone.stderr
    for mode in ("all", "sample", "count"):
        for given in ({"schedule": SCHEDULE}, {"marker": "none", "schedule": ""}):
            given = {key: value for key, value in given.items() if value}
            with prof.folder() as log:
                run = prof.launch(TRAIN, log, check=False, malloc=mode, buffer_mb=2048, **given)
                assert (run.status, run.out) == (3, alone.stdout), (mode, run.out, run.err)
                assert "to stderr\n" in run.err
                trace = run.only()
                prof.strict(run.paths())
                assert trace.facts["heap"]["mode"] == mode
                assert not run.left_over(), run.left_over()


def window_ns(trace):
    base = trace.raw["baseTimeNanoseconds"]
    return [base + round(us * 1000) for us in trace.window()]


def test_equals_the_reference_event_by_event():
    """The reference behind us logs the same process: our totals are those of one stretch of
    its log that begins and ends where the window does."""
    with prof.folder() as log:
        path = os.path.join(log, "reference")
        trace = train(log, env={"LD_PRELOAD": fidelity.REFERENCE, "REF_LOG": path}).only()
        events = fidelity.Log(f"{path}.{trace.pid}")
        want = fidelity.ours(trace)
        first, last = window_ns(trace)
        allocs, sizes, frees = [0], [0], [0]
        for size in events.bytes[:events.length]:
            allocs.append(allocs[-1] + (size >= 0))
            sizes.append(sizes[-1] + max(size, 0))
            frees.append(frees[-1] + (size < 0))
        ns = events.ns[:events.length]

        def around(moment):
            return range(bisect.bisect_left(ns, moment - EDGE_NS),
                         bisect.bisect_right(ns, moment + EDGE_NS) + 1)

        # A thread of ours that is born meanwhile costs one block of the loader's, which is
        # no doing of the program's, nor is its free when the thread ends.
        born = [(n, size, gone) for n in range(4) for size in ({0} if not n else BIRTHS)
                for gone in range(n + 1)]
        begins = {(allocs[i], sizes[i], frees[i]) for i in around(first)}
        found = [(n, size, gone) for j in around(last) for n, size, gone in born
                 if (allocs[j] - want.allocs - n, sizes[j] - want.bytes - n * size,
                     frees[j] - want.frees - gone) in begins]
        nearest = events.counts(bisect.bisect_left(ns, first), bisect.bisect_left(ns, last))
        assert found, f"no stretch of the log has {want}; the one between the edges: {nearest}"
        assert want.allocs > 1000, want
        print(f"{want}; threads of ours: {sorted(set(found))}")


def innermost(trace):
    """(thread, moment) -> name of the operator or annotation that is in flight there."""
    threads = collections.defaultdict(list)
    for event in trace.slices:
        if event["cat"] in ("cpu_op", "user_annotation") and "ProfilerStep" not in event["name"]:
            threads[event["tid"]].append(event)

    def name(tid, moment):
        best = None
        for event in threads[tid]:
            if event["ts"] > moment:
                break
            if event["ts"] + event["dur"] >= moment:
                best = event["name"]
        return best
    return name


def test_operators_have_the_memory_that_torch_says():
    """Each tensor's memory is a block of the heap: aligned_alloc, in the same operator."""
    with prof.folder() as log:
        trace = train(log, profile_memory=True).only()
        found, operator = fidelity.heap(trace), innermost(trace)
        tensors, blocks = collections.Counter(), collections.Counter()
        for event in trace.raw["traceEvents"]:
            if event["ph"] == "i" and event["name"] == "[memory]" and event["args"]["Bytes"] > 0:
                tensors[operator(event["tid"], event["ts"])] += event["args"]["Bytes"]
        for site in found["sites"]:
            if site["call"] == "aligned_alloc":
                blocks[site["op"]] += site["bytes"]
        assert len(tensors) > 10, tensors
        print({name: (tensors[name], blocks[name]) for name in tensors if tensors[name] != blocks[name]})
        for name, size in tensors.items():
            assert blocks[name] >= size, (name, size, blocks[name])
        # What libraries take for themselves in the same way is the smaller part.
        assert sum(blocks.values()) <= 2 * sum(tensors.values()), (blocks, tensors)


def test_steps_are_the_trace_s():
    with prof.folder() as log:
        trace = train(log).only()
        found = fidelity.heap(trace)
        assert found["steps"] == trace.steps(), (found["steps"], trace.steps())
        for site in found["sites"]:
            assert len(site["steps"]) == len(found["steps"]), site


def test_sample_finds_the_same_operators():
    """An estimate of the whole that is not far off, though only a part is looked at."""
    with prof.folder() as log:
        want = fidelity.ours(train(log).only())
    with prof.folder() as log:
        got = fidelity.ours(train(log, malloc="sample", malloc_sample_kb=16,
                                  env={"PROF_MALLOC_SEED": "1"}).only())
    assert 0.7 * want.bytes < got.bytes < 1.4 * want.bytes, (want, got)


def test_tensor_memory_is_torch_s_with_the_heap_recorded():
    """The fidelity suite, event by event against torch.profiler, beside malloc=all."""
    programs = os.path.join(prof.HERE, "..", "fidelity", "progs")
    with prof.folder() as work:
        for name in ("cnn", "transformer", "threads", "out_of_memory"):
            run = subprocess.run(
                [CHECK, PYTHON, os.path.join(programs, name + ".py")], text=True, timeout=250,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env={**os.environ, "FIDELITY_WORK": work, "BUILD": prof.BUILD,
                     "FIDELITY_OPTIONS": "--malloc all --buffer-mb 2048"})
            print(name, run.stdout.strip().splitlines()[-1:])
            assert run.returncode == 0, (name, run.stdout[-2000:])


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
