#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""What the options for the GPU add to a file, and that nothing of it is there without."""
import sys

import cuda
import prof

PLAN = {"schedule": "wait=1,warmup=1,active=2,repeat=1"}
SOME = (cuda.VERSIONS[0], "12.8", cuda.NEWEST)


def loop(version, log, fake=None, **given):
    run = cuda.run(version, "loop", 5, log, fake=fake, **{**PLAN, **given})
    trace = run.only()
    prof.strict(run.paths())
    return run, trace


def whole(version, fake=None, **given):
    """Kernels, copies and sets are there whatever else is asked for."""
    with prof.folder() as log:
        run, trace = loop(version, log, fake, **given)
        assert cuda.counts(trace) == cuda.times(2, cuda.STEP), (version, given, run.err)
        cuda.whole(trace)
        return trace


def test_nothing_unasked():
    for version in SOME:
        trace = whole(version)
        assert not cuda.of(trace, "cuda_sync", "cuda_event"), version
        for event in cuda.of(trace, "kernel", "cuda_runtime"):
            assert not event["args"].get("queued") and "Call stack" not in event["args"], event


def test_sync():
    for version in SOME:
        trace = whole(version, cuda_sync=True)
        syncs = trace.named("Stream Sync")
        assert len(syncs) == 4, (version, len(syncs))
        for sync in syncs:
            assert sync["cat"] == "cuda_sync" and sync["args"]["stream"] >= 7, sync
            assert sync["args"]["cuda_sync_kind"] == "Stream Sync", sync


def test_latency():
    for version in SOME:
        trace = whole(version, cuda_latency=True)
        base = trace.raw["baseTimeNanoseconds"]
        for kernel in cuda.of(trace, "kernel"):
            began = base + cuda.ns(kernel["ts"])
            assert 0 <= began - kernel["args"]["queued"] < 1_000_000_000, kernel


def test_stacks():
    """Innermost first: the launching function, then its callers up to main."""
    trace = whole(cuda.NEWEST, cuda_stacks="native")
    for call in trace.named("cudaLaunchKernel"):
        frames = call["args"].get("Call stack", "").split(";")
        assert any(f.startswith("main (cuda_work") for f in frames), call
        assert not any("libproflaunch" in f for f in frames), call


def test_occupancy():
    """Above 48 KiB of shared memory: as it is, or 0 as torch.profiler says."""
    for way, blocks in (("exact", 4), ("kineto", 0)):  # 228 KiB / (49 + 1) KiB
        with prof.folder() as log:
            _, trace = loop(cuda.NEWEST, log, {"KERNELS": "*alpha*=9000:32:49152"}, occupancy=way)
            alphas = [k["args"] for k in cuda.of(trace, "kernel") if k["name"].startswith("alpha")]
            assert {a["shared memory"] for a in alphas} == {49152 + 1024}, alphas
            found = {a["occupancy"]["activeBlocksPerMultiprocessor"] for a in alphas}
            assert found == {blocks}, (way, found)
            assert blocks or all(a["est. achieved occupancy %"] == 0 for a in alphas), alphas


def test_memory():
    with prof.folder() as log:
        trace = cuda.run(cuda.NEWEST, "loop", 2, log, marker="none", cuda_memory=True).only()
        seen = [e["args"] for e in trace.raw["traceEvents"] if e.get("cat") == "cuda_memory"]
        assert sorted(a["memory"] for a in seen) == ["Device", "Pinned"], seen
        assert all(a["Bytes"] == 1 << 20 and a["Addr"] for a in seen), seen


def test_estimate():
    """Without CUPTI: the calls' own times, and some kernels marked as estimates."""
    for estimate in (True, False):
        with prof.folder() as log:
            run, trace = loop("13.0", log, {"ERROR": "cuptiSubscribe=39"}, cuda_estimate=estimate)
            found = cuda.calls(trace)
            if not estimate:
                assert not found and not cuda.of(trace, *cuda.WORK), found
                continue
            assert {n: found.get(n) for n in cuda.STEP_CALLS} == \
                cuda.times(2, cuda.STEP_CALLS), (found, run.err)
            kernels = cuda.of(trace, "kernel")
            assert kernels and all(k["args"]["estimate"] is True for k in kernels), kernels
            before = cuda.gpu_facts(trace).get("GPU work before its call", 0)
            assert before == 0, (before, kernels)


prof.main(sys.modules[__name__])
