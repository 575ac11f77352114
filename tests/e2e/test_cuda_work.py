#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
# run: waits
"""A plain CUDA program on the fake GPU, with every version of CUPTI: what is in the file."""
import subprocess
import sys

import cuda
import prof

PLAN = "wait=1,warmup=1,active=2,repeat=2"


def test_every_version():
    for version in cuda.VERSIONS:
        status, out = cuda.without(version, "loop", 10)
        with prof.folder() as log:
            run = cuda.run(version, "loop", 10, log, schedule=PLAN)
            assert (run.status, run.out) == (status, out), (version, run.out, run.err)
            traces = run.traces()
            assert [t.steps() for t in traces] == [[2, 3], [6, 7]], (version, run.err)
            for trace in traces:
                assert cuda.counts(trace) == cuda.times(2, cuda.STEP), (version, cuda.counts(trace))
                found = cuda.calls(trace)
                assert {n: found.get(n) for n in cuda.STEP_CALLS} == \
                    cuda.times(2, cuda.STEP_CALLS), (version, found)
                cuda.whole(trace)
            prof.strict(run.paths())


def test_arguments():
    """What the program passed is what the file says."""
    for version in (cuda.VERSIONS[0], cuda.NEWEST):
        with prof.folder() as log:
            trace = cuda.run(version, "loop", 3, log, schedule="wait=1,active=1,repeat=1",
                             fake={"KERNELS": "*alpha*=10000:40:256,*=3000", "COPY_NS": 2048}).only()
            kernels = cuda.of(trace, "kernel")
            assert sorted(k["name"] for k in kernels) == \
                ["alpha(float*, int)"] * 2 + ["beta(float*, int)", "gamma(float*, int)"], kernels
            for kernel in kernels:
                args, alpha = kernel["args"], kernel["name"].startswith("alpha")
                blocks = {"a": 8, "b": 16, "g": 4}[kernel["name"][0]]
                assert (args["grid"], args["block"]) == ([blocks, 2, 1], [64, 2, 1]), kernel
                assert cuda.ns(kernel["dur"]) == (10000 if alpha else 3000), kernel
                assert args["shared memory"] == (1280 if alpha else 1024), kernel
                assert not alpha or args["registers per thread"] == 40, kernel
            copies = {c["name"]: c for c in cuda.of(trace, "gpu_memcpy")}
            up, down = copies["Memcpy HtoD (Pinned -> Device)"], copies["Memcpy DtoH (Device -> Pinned)"]
            assert (up["args"]["bytes"], down["args"]["bytes"]) == (4097, 256), copies
            assert abs(down["args"]["memory bandwidth (GB/s)"] - 0.125) < 1e-6, down
            (fill,) = cuda.of(trace, "gpu_memset")
            assert (fill["name"], fill["args"]["bytes"]) == ("Memset (Device)", 512), fill
            by_name = {k["name"][0]: k["args"]["stream"] for k in kernels}
            assert by_name["a"] == by_name["g"] != by_name["b"], by_name
            assert up["tid"] == by_name["a"] and up["pid"] == 0, up


def test_one_window_from_start_to_end():
    for version in (cuda.VERSIONS[0], cuda.NEWEST):
        with prof.folder() as log:
            run = cuda.run(version, "loop", 20, log, marker="none")
            trace = run.only()
            assert cuda.counts(trace) == cuda.times(20, cuda.STEP), cuda.counts(trace)
            found = cuda.calls(trace)
            assert found["cudaMalloc"] == 1 and found["cudaStreamCreate"] == 2, found
            cuda.whole(trace)
            prof.strict(run.paths())


def test_windows_back_to_back():
    """One step each, no warm-up: nothing is lost between two windows, nothing is twice."""
    count = 30
    for version in (cuda.VERSIONS[1], cuda.NEWEST):
        with prof.folder() as log:
            run = cuda.run(version, "loop", count, log, schedule="active=1")
            traces = [t for t in run.traces() if t.steps()][:count]
            assert [t.steps() for t in traces] == [[n] for n in range(count)], run.err
            for trace in traces:
                assert cuda.counts(trace) == cuda.STEP, (trace.path, cuda.counts(trace))
                cuda.whole(trace)
            prof.strict(run.paths())


def test_work_that_outlives_its_window():
    """It belongs to the window of its launch; Record Window End is then its end."""
    for version in (cuda.VERSIONS[0], cuda.NEWEST):
        with prof.folder() as log:
            run = cuda.run(version, "tail", 6, log, schedule="wait=1,active=2,repeat=1",
                           fake={"KERNELS": "*alpha*=20000000,*beta*=1000"})
            trace = run.only()
            kernels = cuda.of(trace, "kernel")
            assert [k["name"][0] for k in kernels] == ["a", "b", "a", "b"], kernels
            # Both clocks were read at several moments, a little wrongly on a busy machine: 40 ppm were seen.
            assert all(abs(cuda.ns(k["dur"]) - 20_000_000) < 2_000 for k in kernels[::2]), kernels
            last = max(cuda.ns(k["ts"]) + cuda.ns(k["dur"]) for k in kernels)
            end = cuda.ns(trace.window()[1])
            assert last <= end <= last + 1000, (last, end)
            step = trace.named("ProfilerStep#2")[0]
            assert step["ts"] + step["dur"] < kernels[-1]["ts"], step
            cuda.whole(trace)
            prof.strict(run.paths())


def test_work_that_ends_seconds_later():
    with prof.folder() as log:
        trace = cuda.run(cuda.NEWEST, "tail", 3, log, schedule="wait=1,active=1,repeat=1",
                         fake={"KERNELS": "*alpha*=1500000000,*beta*=1000"}).only()
        kernels = cuda.of(trace, "kernel")
        assert [k["name"][0] for k in kernels] == ["a", "b"], kernels
        assert kernels[0]["ts"] - trace.named("ProfilerStep#1")[0]["ts"] > 1.4e6, kernels
        cuda.whole(trace)


def test_leaves_without_waiting():
    """What CUPTI held when the program ended is in the file."""
    for version in (cuda.VERSIONS[0], cuda.NEWEST):
        for way in ("lost", "kept"):
            with prof.folder() as log:
                run = cuda.run(version, "leave", 200, log, marker="none",
                               fake={"KERNEL_NS": 20000, "EXIT": way})
                trace = run.only()
                assert cuda.counts(trace)["kernel"] == 200, (version, way, cuda.counts(trace))
                cuda.whole(trace)


def test_two_devices():
    for version in (cuda.VERSIONS[0], cuda.NEWEST):
        with prof.folder() as log:
            run = cuda.run(version, "devices", 5, log, schedule="wait=1,active=3,repeat=1",
                           fake={"DEVICES": 2})
            trace = run.only()
            rows = [(k["name"][0], k["pid"]) for k in cuda.of(trace, "kernel")]
            assert sorted(rows) == [("a", 0)] * 3 + [("b", 1)] * 3, rows
            assert {d["id"] for d in trace.raw["deviceProperties"]} == {0, 1}
            contexts = {k["pid"]: k["args"]["context"] for k in cuda.of(trace, "kernel")}
            assert contexts[0] != contexts[1], contexts
            cuda.whole(trace)
            prof.strict(run.paths())


def test_many_threads():
    for version in (cuda.VERSIONS[0], cuda.NEWEST):
        with prof.folder() as log:
            run = cuda.run(version, "threads", 100, log, marker="none", cuda_buffer_mb=256)
            trace = run.only()
            assert cuda.counts(trace)["kernel"] == 6400, (cuda.counts(trace), run.err)
            by_thread = {}
            for call in trace.named("cudaLaunchKernel"):
                by_thread[call["tid"]] = by_thread.get(call["tid"], 0) + 1
            assert sorted(by_thread.values()) == [100] * 64, by_thread
            cuda.whole(trace)
            prof.strict(run.paths())


def test_graphs():
    """node: each kernel; graph: a row for each launch; off: neither."""
    for version in (cuda.VERSIONS[0], cuda.NEWEST):
        for way, kernels in (("node", 9), ("graph", 3), ("off", 0)):
            with prof.folder() as log:
                run = cuda.run(version, "graph", 5, log, schedule="wait=1,active=3,repeat=1",
                               cuda_graphs=way)
                trace = run.only()
                assert cuda.counts(trace)["kernel"] == kernels, (version, way, cuda.counts(trace))
                assert cuda.calls(trace)["cudaGraphLaunch"] == 3, cuda.calls(trace)
                if way == "graph":
                    assert all(k["name"].startswith("CUDA graph") and k["args"]["graph id"]
                               for k in cuda.of(trace, "kernel")), cuda.of(trace, "kernel")
                if way == "node":
                    by_launch = {}
                    for k in cuda.of(trace, "kernel"):
                        by_launch.setdefault(k["args"]["correlation"], []).append(k["name"][0])
                    assert list(by_launch.values()) == [["a", "b", "g"]] * 3, by_launch
                    cuda.whole(trace)
                prof.strict(run.paths())


def test_markers():
    """A kernel, and a call, as what ends a step."""
    for marker in ("kernel:*gamma*", "cuda:cudaLaunchKernel", "cuda:*Synchronize"):
        with prof.folder() as log:
            trace = cuda.run(cuda.NEWEST, "loop", 8, log, marker=marker,
                             schedule="wait=1,active=2,repeat=1").only()
            assert trace.steps() == [1, 2], (marker, trace.steps())


def test_activities():
    """cpu: no GPU; cuda: no operators but the GPU."""
    for given, kernels in (("cpu", 0), ("cuda", 8), ("cpu,cuda", 8)):
        with prof.folder() as log:
            run = cuda.run(cuda.NEWEST, "loop", 4, log, activities=given,
                           schedule="wait=1,active=2,repeat=1")
            found = [cuda.counts(t)["kernel"] for t in run.traces()]
            assert found in ([kernels], [] if not kernels else [kernels]), (given, found, run.err)


def test_switched_in_the_running_program():
    """proflaunch_collect(PROFLAUNCH_CUDA, ...): off and on again, several times."""
    for version in (cuda.VERSIONS[0], cuda.NEWEST):
        with prof.folder() as log:
            run = cuda.run(version, "collect", 6, log, marker="none")
            trace = run.only()
            assert cuda.counts(trace) == cuda.times(3, cuda.STEP), (version, cuda.counts(trace), run.err)
            cuda.whole(trace)
            prof.strict(run.paths())


def test_example():
    """Its steps are short here: many of them are warmup, in which kinds go on."""
    for version in cuda.VERSIONS:
        with prof.folder() as log:
            run = prof.launch([cuda.example(version), "320"], log, marker="kernel:*update*",
                              env=cuda.environment(version),
                              schedule="wait=5,warmup=300,active=4,repeat=1")
            trace = run.only()
            assert cuda.counts(trace) == {"kernel": 12, "gpu_memcpy": 16, "gpu_memset": 8}, \
                (version, cuda.counts(trace), run.err)
            cuda.whole(trace)
            prof.strict(run.paths())
            told = subprocess.run([sys.executable, "tests/readers/gpu_tell.py", trace.path],
                                  capture_output=True, text=True, check=False)
            assert told.returncode == 0, told.stdout + told.stderr
            assert "arrows from call to GPU: 36 for 36" in told.stdout, told.stdout


prof.main(sys.modules[__name__])
