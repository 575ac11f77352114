#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
# run: full
"""Kernels at awkward times: which window they are in, and when its file comes."""
import glob
import os
import sys
import time

import cuda
import prof

BEFORE = "GPU work from before the window"


def run(version, mode, count, log, alpha_ns, **given):
    return cuda.run(version, mode, count, log, program="cuda_times",
                    fake={"KERNELS": f"*alpha*={alpha_ns}"}, **given)


def test_work_from_before_the_window():
    """A step that launches nothing has no kernels, whatever still runs in it; also with
    a CUPTI (12.8) in which kernels stay on when calls go off."""
    for version in ("11.8", "12.8", cuda.NEWEST):
        with prof.folder() as log:
            traces = run(version, "quiet", 9, log, 20_000_000, schedule="wait=2,active=1").traces()
            traces = [t for t in traces if t.steps()]
            assert [t.steps() for t in traces] == [[2], [5], [8]], [t.steps() for t in traces]
            found = [cuda.counts(t)["kernel"] for t in traces]
            assert found == [0, 0, 0], (version, found)
            before = sum(cuda.gpu_facts(t).get(BEFORE, 0) for t in traces)
            assert (before > 0) == (version == "12.8"), (version, before)
            prof.strict([t.path for t in traces])


def test_a_gpu_that_is_never_idle():
    """A window's file comes, and kinds go off, while work is launched faster than it is done."""
    for version in ("11.8", "12.4", "12.8", "13.1", cuda.NEWEST):
        with prof.folder() as log:
            calls, stop = os.path.join(log, "calls"), os.path.join(log, "stop")
            os.environ["STOP"] = stop
            process = cuda.start(version, "busy", 4000, log, program="cuda_times",
                                 fake={"KERNELS": "*alpha*=23000000", "LOG": calls},
                                 schedule="wait=1,active=2,repeat=1")
            found = []
            while not found and process.poll() is None:
                time.sleep(0.1)
                found = glob.glob(os.path.join(log, "*.pt.trace.json"))
            alive = process.poll() is None
            with open(calls, encoding="ascii") as file:
                told = file.read()
            with open(stop, "w", encoding="ascii"):
                _, err = process.communicate(timeout=100)
            assert found and alive, (version, err)
            assert "cuptiActivityDisable 1 0" in told, (version, told)
            assert cuda.counts(prof.Trace(found[0]))["kernel"] == 2, (version, err)
            assert cuda.gpu_facts(prof.Trace(found[0])).get("calls without their GPU work", 0) == 0


def flushes_in_an_open_window(said):
    """How often records were fetched while a window was open, of a CUPTI that says so."""
    with prof.folder() as log:
        calls, stop = os.path.join(log, "calls"), os.path.join(log, "stop")
        os.environ["STOP"] = stop
        process = cuda.start("13.0", "busy", 4000, log, program="cuda_times", marker="none",
                             fake={"KERNELS": "*alpha*=1000", "LOG": calls, "VERSION": said})
        time.sleep(3)
        with open(calls, encoding="ascii") as file:
            found = file.read().count("cuptiActivityFlushAll")
        with open(stop, "w", encoding="ascii"):
            _, err = process.communicate(timeout=100)
        (path,) = glob.glob(os.path.join(log, "*.pt.trace.json"))
        trace = prof.Trace(path)
        launched = len(trace.named("cudaLaunchKernel"))
        assert launched > 20 and cuda.counts(trace)["kernel"] == launched, (said, err)
        return found


def test_a_flush_that_may_crash():
    """13.0 without its Update 1, which torch's wheels bring: after windows only."""
    assert flushes_in_an_open_window(130001) > 1
    assert flushes_in_an_open_window(130000) == 0
    with prof.folder() as log:
        run = cuda.run("13.0", "loop", 20, log, fake={"VERSION": 130000},
                       schedule="wait=1,active=2,repeat=6")
        traces = run.traces()
        assert len(traces) == 6, run.err
        for trace in traces:
            assert cuda.counts(trace) == cuda.times(2, cuda.STEP), run.err
            assert "may crash" in trace.facts["facts"]["cuda"]["defect"], trace.facts


def test_the_largest_grid():
    """2^31 - 1 by 65535 by 65535 blocks: what is computed of them does not wrap."""
    for version in ("11.7", cuda.NEWEST):
        with prof.folder() as log:
            trace = run(version, "grid", 2, log, 1000, marker="none").only()
            for kernel in cuda.of(trace, "kernel"):
                args = kernel["args"]
                assert args["grid"] == [2**31 - 1, 65535, 65535], args
                blocks = (2**31 - 1) * 65535**2 / trace.raw["deviceProperties"][0]["numSms"]
                assert abs(args["blocks per SM"] / blocks - 1) < 1e-5, (args, blocks)
                assert abs(args["warps per SM"] / blocks / 2 - 1) < 1e-5, (args, blocks)
                assert 0 < args["est. achieved occupancy %"] <= 100, args
            assert cuda.counts(trace)["kernel"] == 2


def test_late_records():
    """What comes after its window was given up, where it is not had by force before, is
    counted and told."""
    with prof.folder() as log:
        stop = os.path.join(log, "stop")
        os.environ["STOP"] = stop
        process = cuda.start("13.0", "busy", 2000, log, program="cuda_times",
                             fake={"KERNELS": "*alpha*=1000", "LATE_MS": 33000, "VERSION": 130000},
                             schedule="wait=1,active=2,repeat=1")
        time.sleep(36)
        with open(stop, "w", encoding="ascii"):
            _, err = process.communicate(timeout=100)
        (path,) = glob.glob(os.path.join(log, "*.pt.trace.json"))
        assert cuda.counts(prof.Trace(path))["kernel"] == 0, err
        assert "GPU records came after its window had been written" in err, err


prof.main(sys.modules[__name__])
