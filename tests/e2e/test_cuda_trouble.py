#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 900
# run: full
"""Trouble with CUPTI, of every kind: the program goes on, the file says what is missing."""
import os
import re
import signal
import subprocess
import sys
import time

import cuda
import prof
from finisher import children, gone, until

SOME = cuda.VERSIONS
FUNCTIONS = ("cuptiSubscribe", "cuptiSubscribe_v2", "cuptiGetVersion", "cuptiActivityEnable",
             "cuptiActivityRegisterCallbacks", "cuptiActivityFlushAll", "cuptiGetTimestamp",
             "cuptiActivitySetAttribute", "cuptiActivityGetNextRecord", "cuptiEnableCallback",
             "cuptiActivityEnableRuntimeApi", "cuptiSetThreadIdType", "cuptiActivityDisable",
             "cuptiActivityGetNumDroppedRecords", "cuptiEnableDomain", "cuptiGetCallbackName")
STEPS = 6
UNFETCHED = "ended before CUPTI gave everything back"
PLAN = "wait=1,active=2,repeat=2"


def compare(version, mode, count, log, fake, **given):
    """The program's status and output are the same with us; returns the run."""
    expected = cuda.without(version, mode, count, **fake)
    run = cuda.run(version, mode, count, log, fake=fake, check=False, **given)
    assert (run.status, run.out) == expected, (version, mode, fake, expected, run.out, run.err)
    if run.paths():
        prof.strict(run.paths())
    return run


def complaints(run):
    """Our lines about the GPU, but for the sums at the end."""
    return [line for line in run.err.splitlines() if "GPU was not recorded for" not in line
            and not re.match("proflaunch: (torch-tb-profiler |[0-9]+ trace files? in )", line)
            and "proflaunch" in line and ("GPU" in line or "CUPTI" in line or "CUDA" in line)]


def kernels(run):
    return sum(cuda.counts(trace)["kernel"] for trace in run.traces())


def test_errors_from_every_call():
    """Either all is recorded nevertheless, or one line says why not."""
    for version in ("11.8", "13.0"):
        for function in FUNCTIONS:
            for code in (35, 39, 999, 15):
                with prof.folder() as log:
                    run = compare(version, "loop", STEPS, log, {"ERROR": f"{function}={code}"},
                                  schedule=PLAN)
                    said, found = complaints(run), kernels(run)
                    what = (version, function, code, found, run.err)
                    assert len(run.paths()) == 2 or said, what  # none of steps alone
                    assert len(said) <= 1, what
                    assert said or found == 16, what


def test_the_function_that_failed_is_named():
    for function in ("cuptiActivityEnableRuntimeApi", "cuptiActivityEnableDriverApi",
                     "cuptiActivityEnable/10", "cuptiActivityFlushAll", "cuptiSetThreadIdType"):
        with prof.folder() as log:
            run = compare("13.0", "loop", STEPS, log, {"ERROR": f"{function}=14"}, schedule=PLAN)
            said = complaints(run)
            assert len(said) == 1 and f"{function.split('/')[0]} gives" in said[0], (function, said)


def test_an_error_that_passes():
    for function in ("cuptiActivityFlushAll", "cuptiActivityEnable/10"):
        with prof.folder() as log:
            run = compare(cuda.NEWEST, "loop", STEPS, log, {"ERROR": f"{function}=999*1"},
                          schedule=PLAN)
            assert kernels(run) == 16 or complaints(run), run.err


def test_an_option_that_cannot_be():
    """One line names the option and what is missing; all else is recorded."""
    for function, option, line in (
            ("cuptiActivityEnable/38", "cuda_sync", "cuda_sync: waits are not recorded"),
            ("cuptiActivityEnable/36", "cuda_sync", "cuda_sync: events are not recorded"),
            ("cuptiActivityEnable/49", "cuda_memory", "cuda_memory: allocations of CUDA's are not"),
            ("cuptiActivityEnable/1", "cuda_memory", "activities: copies are not recorded"),
            ("cuptiActivityEnableLatencyTimestamps", "cuda_latency", "cuda_latency: when kernels"),
            ("cuptiActivityEnableCudaEventDeviceTimestamps", "cuda_sync", "GPU's times of events")):
        with prof.folder() as log:
            run = compare("13.1", "loop", STEPS, log, {"ERROR": f"{function}=14"},
                          schedule=PLAN, **{option: True})
            said = [text for text in run.err.splitlines() if "not recorded" in text]
            assert len(said) == 1 and line in said[0] and "(14)" in said[0], (function, run.err)
            assert kernels(run) == 16, (function, run.err)


def test_the_programs_own_errors():
    for function in ("cuInit", "cudaLaunchKernel", "cudaMalloc", "cudaMemcpyAsync"):
        with prof.folder() as log:
            compare("13.0", "loop", 3, log, {"ERROR": f"{function}=999"}, schedule="active=1,repeat=1")


def test_somebody_else_has_subscribed():
    for version in SOME:
        with prof.folder() as log:
            run = compare(version, "loop", STEPS, log, {"OWNER": "nsys"}, schedule=PLAN)
            assert len(complaints(run)) == 1 and kernels(run) == 0, (version, run.err)


def test_somebody_else_who_goes():
    """One line, a gap in the windows until then, and everything in those after it."""
    for version in ("11.8", "12.8", cuda.NEWEST):
        with prof.folder() as log:
            run = cuda.run(version, "busy", 150, log, program="cuda_times",
                           fake={"KERNELS": "*alpha*=1000", "ERROR": "cuptiSubscribe=39*2"},
                           schedule="wait=8,active=2")
            traces = [t for t in run.traces() if len(t.steps()) == 2]
            found = [cuda.counts(t)["kernel"] for t in traces]
            assert found[0] == 0 and found[-1] == 2, (version, found, run.err)
            assert cuda.gpu_facts(traces[0])["gaps"] == 1, cuda.gpu_facts(traces[0])
            assert "gaps" not in cuda.gpu_facts(traces[-1]), cuda.gpu_facts(traces[-1])
            assert len(complaints(run)) == 2, (version, run.err)  # with "on the GPU: n kernels"
            prof.strict(run.paths())


def test_a_second_client():
    """The program's own profiler gets what it gets without us, and we get everything."""
    for version in SOME:
        with prof.folder() as log:
            run = compare(version, "client", 12, log, {}, marker="none")
            assert "it saw 32 kernels" in run.out, run.out
            assert kernels(run) == 48, (version, kernels(run), run.err)
            cuda.whole(run.only())


def test_dropped():
    for version in SOME:
        with prof.folder() as log:
            run = compare(version, "loop", 20, log, {"DROP_EVERY": 7}, marker="none")
            trace = run.only()
            lost = 140 + 180 - sum(cuda.counts(trace, cuda.WORK + cuda.CALLS).values())
            facts = cuda.gpu_facts(trace)
            assert lost > 10 and facts.get("dropped by CUPTI", 0) >= lost, (version, lost, facts)


def test_times_that_cannot_be():
    for version in SOME:
        for way, fact in (("ZERO_EVERY", "without a time"),
                          ("REVERSED_EVERY", "end before begin")):
            with prof.folder() as log:
                run = compare(version, "loop", 30, log, {way: 5}, marker="none")
                trace = run.only()
                bad = cuda.gpu_facts(trace).get(fact, 0)
                assert bad == 24, (version, way, cuda.gpu_facts(trace))
                assert cuda.counts(trace)["kernel"] == 120 - bad, cuda.counts(trace)
                cuda.whole(trace)


def test_incomplete():
    with prof.folder() as log:
        run = compare(cuda.NEWEST, "loop", 30, log, {"INCOMPLETE_EVERY": 6}, marker="none")
        assert cuda.counts(run.only())["kernel"] == 100, cuda.counts(run.only())


def test_before_its_launch():
    for version in SOME:
        with prof.folder() as log:
            run = compare(version, "loop", 20, log, {"EARLY_EVERY": 4}, marker="none")
            trace = run.only()
            assert cuda.counts(trace)["kernel"] == 80
            assert cuda.gpu_facts(trace).get("GPU work before its call", 0) >= 10, cuda.gpu_facts(trace)
            cuda.whole(trace, early=True)


def test_order_and_lateness():
    for version in SOME:
        for fake in ({"ORDER": "reverse"}, {"LATE_MS": 700}, {"COMPLETE": "late"},
                     {"COMPLETE": "caller"}, {"ORDER": "reverse", "COMPLETE": "late"},
                     {"NESTED": 1}, {"API_NS": 2000}):
            with prof.folder() as log:
                run = compare(version, "loop", STEPS, log, fake, schedule=PLAN)
                traces = run.traces()
                assert [cuda.counts(t) for t in traces] == [cuda.times(2, cuda.STEP)] * 2, \
                    (version, fake, [cuda.counts(t) for t in traces], run.err)
                for trace in traces:
                    cuda.whole(trace)


def test_clocks_apart():
    """CUPTI's clock runs ahead or behind; everything stays where it belongs."""
    for skew in (2000, -2000, 5_000_000_000, -5_000_000_000):
        with prof.folder() as log:
            run = compare("13.0", "loop", STEPS, log, {"SKEW_NS": skew}, schedule=PLAN)
            for trace in run.traces():
                assert cuda.counts(trace) == cuda.times(2, cuda.STEP), (skew, run.err)
                low, high = trace.window()
                assert all(low <= e["ts"] <= high for e in cuda.of(trace, *cuda.WORK, *cuda.CALLS))
                steps = [s for s in trace.slices if s["name"].startswith("ProfilerStep#")]
                for call in cuda.of(trace, "cuda_runtime"):
                    held = any(s["ts"] - 3 <= call["ts"] <= s["ts"] + s["dur"] + 3 for s in steps)
                    assert held, (skew, call)
                cuda.whole(trace)


def test_spoiled_buffers():
    for version in SOME:
        with prof.folder() as log:
            run = cuda.run(version, "raw", 8, log, schedule="active=1")
            traces = run.traces()
            assert len(traces) >= 8, run.err
            bad = sum(cuda.gpu_facts(t).get("buffers not read to their end", 0) for t in traces)
            assert bad >= 1, (version, [cuda.gpu_facts(t) for t in traces])
            assert cuda.counts(traces[0]) == cuda.STEP, cuda.counts(traces[0])
            prof.strict(run.paths())


def test_correlation_wraps():
    for version in SOME:
        with prof.folder() as log:
            run = compare(version, "loop", 20, log, {"CORRELATION": 4294967290 - 60},
                          schedule="active=5")
            found = [t for t in run.traces() if t.steps()][:4]
            assert [cuda.counts(t) for t in found] == [cuda.times(5, cuda.STEP)] * 4, \
                (version, [cuda.counts(t) for t in found])
            for trace in found:
                cuda.whole(trace)


def test_fork_with_full_buffers():
    for version in SOME:
        with prof.folder() as log:
            run = compare(version, "fork", 8, log, {}, marker="none")
            assert "fake:" not in run.err, run.err
            assert kernels(run) == 32, (version, kernels(run), run.err)
            traces = [t for t in run.traces() if cuda.counts(t)["kernel"]]
            assert len(traces) == 1, run.paths()
            cuda.whole(traces[0])


def test_a_long_window():
    """Only the GPU is recorded, more of it than is made ready at first: nothing is lost."""
    with prof.folder() as log:
        run = cuda.run("13.0", "loop", 60000, log, fake={"KERNEL_NS": 1, "LATENCY_NS": 0},
                       marker="none", buffer_mb=1024)
        (path,) = run.paths()
        with open(path, encoding="utf-8") as file:
            head = file.read(60000)
        assert '"drops": {}, "drop reasons": {}' in head, head[head.find('"drops"'):][:300]


def test_hangs():
    """The end of the program waits a bounded time for CUPTI."""
    for way in ("flush", "complete"):
        with prof.folder() as log:
            begin = time.monotonic()
            run = cuda.run("13.0", "leave", 100, log, fake={"HANG": way}, marker="none",
                           timeout=300)
            assert time.monotonic() - begin < 15, way
            assert run.out == cuda.without("13.0", "leave", 100)[1], run.out
            # Nothing that CUPTI held was to be had: a line says so, and a file if there is one.
            assert "1 window written before CUPTI had given back all" in run.err, run.err
            assert run.paths() or "nothing was recorded" in run.err, (way, run.err)
            if run.paths():
                prof.strict(run.paths())
                (trace,) = run.traces()
                assert cuda.gpu_facts(trace).get(UNFETCHED) == 1, cuda.gpu_facts(trace)


def test_quits():
    """_exit in an open window: all is there, and nothing is said to be missing."""
    for version in ("12.4", "13.0"):
        with prof.folder() as log:
            run = cuda.run(version, "quit", 50, log, marker="none")
            (trace,) = run.traces()
            assert len(cuda.of(trace, "kernel")) == 50, len(cuda.of(trace, "kernel"))
            assert UNFETCHED not in cuda.gpu_facts(trace), cuda.gpu_facts(trace)
            assert "CUPTI had given back" not in run.err, run.err


def test_no_gpu():
    """The libraries are there, the driver says no: one line, an ordinary trace."""
    for code in (100, 35, 999):
        with prof.folder() as log:
            run = compare("13.0", "loop", 2, log, {"ERROR": f"cuInit={code}"}, marker="none")
            assert len(complaints(run)) <= 1, run.err


def kill(after, version):
    """Kills a program and all of ours; what it had printed, and what recover finds."""
    with prof.folder() as log:
        process = subprocess.Popen(
            [prof.LAUNCHER, "--logdir", log, "--marker", "none", "--",
             prof.prog("cuda_work"), "counting", "1000000"],
            env={**os.environ, **cuda.environment(version)}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        process.stdout.readline()       # reads ahead: the lines count themselves
        time.sleep(after)
        process.send_signal(signal.SIGSTOP)
        killed = list(children(process.pid).values())
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        process.kill()
        rest, err = process.communicate(timeout=300)
        until(lambda: all(gone(pid) for pid in killed))     # they hold the job's lock till then
        steps = int(rest.splitlines()[-1])
        run = prof.Run(prof.plain([prof.LAUNCHER, "recover", log]), log)
        assert run.status == 0, run.err
        assert not run.left_over(), (run.left_over(), run.err)
        prof.strict(run.paths())
        return steps, kernels(run), run.only()


def test_kill_then_recover():
    """What CUPTI still held is lost; what it had handed over is in the file."""
    for version in ("11.8", "13.0"):
        steps, found, trace = kill(3.0, version)
        assert steps > 200 and found >= 4 * steps // 3, (version, steps, found)
        assert found <= 4 * (steps + 1)
        drawn = cuda.arrows(trace)
        missing = [k for k in cuda.of(trace, "kernel") if k["args"]["correlation"] not in drawn]
        assert len(missing) < found / 10, len(missing)


prof.main(sys.modules[__name__])
