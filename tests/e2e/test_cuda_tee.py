#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
# run: waits
"""A program's own profiler beside ours, on one CUPTI: it gets what it gets without us."""
import collections
import functools
import os
import re
import subprocess
import sys

import cuda
import prof

SOURCE = os.path.join(prof.HERE, "cuda_tee.c")
# 11.x: kinds as a whole, one buffer for all; 12.8: single calls; 13: a buffer for each thread.
VERSIONS = ("11.7", "12.1", "12.8", "13.0", "13.4")
# All of it; windows that open and close while the program's profiler is at work.
WINDOWS = ({"marker": "none"},
           {"marker": "time:10", "schedule": "wait=1,warmup=1,active=1,repeat=0"})


@functools.lru_cache(None)
def client(version):
    path = os.path.join(prof.BUILD, "prog", f"cuda_tee-{version}")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-I.",
                    "-pthread", "-rdynamic", "-o", f"{path}.{os.getpid()}", SOURCE,
                    cuda.library(version, "cudart"), cuda.library(version, "cupti"),
                    os.path.join(cuda.folder(version), "libcuda.so.1"), "-ldl"], check=True)
    os.replace(f"{path}.{os.getpid()}", path)
    return path


def alone(version, mode, **fake):
    run = prof.plain([client(version), mode],
                     env={**os.environ, **cuda.environment(version, **fake)})
    assert run.returncode == 0, run.stderr
    return run


class Beside(prof.Run):
    """Under us; `kernels`: how many were launched; `ours`: how many we have."""

    def __init__(self, version, mode, fake=None, **given):
        with prof.folder() as log:
            run = prof.launch([client(version), mode], log, env=cuda.environment(version, **(fake or {})),
                              **given)
            super().__init__(subprocess.CompletedProcess([], run.status, run.out, run.err), log)
            self.ours = [cuda.of(trace, "kernel") for trace in self.traces()]
            self.facts = [cuda.gpu_facts(trace) for trace in self.traces()]
            self.told = [trace.facts["facts"]["cuda"] for trace in self.traces()]
        self.kernels = int(re.search(r"^kernels (\d+)$", run.err, re.M)[1])


def numbered(part):
    """Ids that count up through a process (correlation, grid) count from 1 in each part:
    we have CUPTI count where it would not have without us."""
    for field in ("correlationId", "gridId"):
        seen = sorted({int(n) for n in re.findall(rf" {field}=(\d+)", part)} - {0}, key=wrapped(part))
        rank = {str(n): str(at + 1) for at, n in enumerate(seen)}
        part = re.sub(rf"(?<= {field}=)(\d+)", lambda m: rank.get(m[1], m[1]), part)
    return part


def wrapped(part):
    """Ids behind the wrap at 32 bits come last."""
    low = any(int(n) > 1 << 31 for n in re.findall(r" correlationId=(\d+)", part))
    return lambda n: n + (1 << 32) if low and n < 1 << 31 else n


def without_calls(part):
    """External ids whose call is not there, and the part without them: when a flush of
    ours comes in the middle of a call that the client has off, its id is handed on."""
    lines = part.splitlines()
    calls = {m[1] for m in re.finditer(r"(?m)^[45] .* correlationId=(\d+)", part)}
    lost = [line for line in lines
            if line.startswith("39 ") and re.search(r" correlationId=(\d+)", line)[1] not in calls]
    return len(lost), "\n".join(line for line in lines if line not in lost)


def same(version, mode, out, expected):
    ours, theirs = (re.split(r"(?m)^(?=-- )", text) for text in (out, expected))
    assert len(ours) == len(theirs), f"{version} {mode}: {len(ours)} parts instead of {len(theirs)}"
    for a, b in zip(ours, theirs):
        if not re.search(r" correlationId=[1-9]", b):
            # Without calls CUPTI gives no ids: with ours it does.
            a, b = (re.sub(r" correlationId=\d+", "", part) for part in (a, b))
        (more, a), (few, b) = without_calls(a), without_calls(b)
        assert few <= more <= few + 2, f"{version} {mode}: {more} ids of no call"
        a, b = numbered(a).splitlines(), numbered(b).splitlines()
        for one, other in zip(a, b):
            assert one == other, f"{version} {mode}:\n{one}\ninstead of\n{other}"
        surplus = "\n".join((a if len(a) > len(b) else b)[min(len(a), len(b)):])
        assert len(a) == len(b), f"{version} {mode}: {len(a)} lines instead of {len(b)}:\n{surplus}"


def check(version, mode, fake=None, **given):
    run = Beside(version, mode, fake, **given)
    same(version, mode, run.out, alone(version, mode, **(fake or {})).stdout)
    if given == WINDOWS[0]:
        ours = sum(len(kernels) for kernels in run.ours)
        assert ours == run.kernels, f"{version} {mode}: {ours} kernels of {run.kernels}"
    return run


def test_sessions():
    for version in VERSIONS:
        for window in WINDOWS:
            check(version, "sessions", **window)


def test_no_window_is_near():
    """Our thread only puts buffers back then: what it asks of CUDA is nobody else's."""
    for version in VERSIONS:
        check(version, "sessions", marker="time:10", schedule="wait=100000,warmup=1,active=1")


def test_what_both_have_differently():
    for options in ({"cuda_sync": True, "cuda_memory": True, "cuda_latency": True,
                     "cuda_driver_calls": True}, {"cuda_graphs": "graph"}):
        check("13.0", "sessions", **WINDOWS[0], **options)


def test_graphs():
    """Whatever we want of graphs, it has their kernels where it asks for them."""
    for version in ("12.1", "13.0"):
        for window in WINDOWS:
            for way in ("node", "graph", "off"):
                run = Beside(version, "graphs", **window, cuda_graphs=way)
                same(version, "graphs", run.out, alone(version, "graphs").stdout)
                if window == WINDOWS[0]:
                    # Five times five launches, of two kernels each and one without a graph;
                    # where it asks for whole graphs nobody can have more.
                    kernels = {"node": 4 * 15 + 10, "graph": 2 * 15 + 3 * 10, "off": 5 * 5}[way]
                    assert [len(ours) for ours in run.ours] == [kernels], \
                        (version, way, [len(ours) for ours in run.ours])
                    assert ("graphs" in run.told[0]) == (way == "graph"), (way, run.told)
            check(version, "graph_copies", **WINDOWS[0], cuda_graphs="graph")


def test_orders_of_delivery():
    for fake in ({"COMPLETE": "caller"}, {"LATE_MS": 30}, {"SKEW_NS": 5000000},
                 {"CORRELATION": 4294967200}):
        check("13.0", "sessions", fake, **WINDOWS[0])
    check("13.0", "system_ids", {"NESTED": 1}, **WINDOWS[0])


def test_thread_ids():
    for version in ("11.7", "13.0"):
        check(version, "system_ids", **WINDOWS[0])


def test_a_buffer_that_is_refused():
    run = Beside("13.0", "small", **WINDOWS[0])
    assert re.search(r"^100$", run.err, re.M), run.err  # records and losses together
    same("13.0", "small", run.out, alone("13.0", "small").stdout)
    # Buffers come in the order in which they were filled, also if several wait.
    out = alone("13.0", "small", LATE_MS=300).stdout
    grids = [int(n) for n in re.findall(r" gridX=(\d+) .* name=_Z5firstPf", out)]
    assert grids == sorted(grids) and len(grids) > 20, grids


def test_a_clock_of_its_own():
    for version in ("11.7", "13.1"):
        run = check(version, "clocks", **WINDOWS[0])
        assert run.err.splitlines()[0] == alone(version, "clocks").stderr.splitlines()[0]


def test_subscriber():
    for version in ("11.8", "13.0"):
        run = Beside(version, "subscriber", **WINDOWS[0])
        same(version, "subscriber", run.out, alone(version, "subscriber").stdout)


def test_threads():
    """Sixteen at once: as many records of each thread, in its order."""
    def rows(out):
        found = collections.Counter()
        for line in out.splitlines():
            found[re.sub(r" (correlationId|gridId|streamId|threadId)=\d+", "", line)] += 1
        return found
    for version in ("12.1", "13.0"):
        run = Beside(version, "threads", **WINDOWS[0])
        assert rows(run.out) == rows(alone(version, "threads").stdout), version
        assert sum(map(len, run.ours)) == run.kernels


def test_cupti_is_ended():
    """cuptiFinalize: ours is saved before, and we come back; the gap is told."""
    run = Beside("13.0", "teardown", **WINDOWS[0])
    same("13.0", "teardown", run.out, alone("13.0", "teardown").stdout)
    assert "another profiler had CUPTI" in run.err, run.err
    assert 40 < len(run.ours[0]) <= run.kernels


def test_kernels_one_at_a_time():
    """A kind that cannot be on beside ours: it goes first, and we come back."""
    run = Beside("13.0", "serial", **WINDOWS[0])
    same("13.0", "serial", run.out, alone("13.0", "serial").stdout)
    assert "another profiler had CUPTI" in run.err, run.err
    assert run.ours[0], "we did not come back"


def test_the_second_interface():
    """cuptiSubscribe_v2, found by dlsym: it has CUPTI's only place, as without us."""
    for version in ("13.0", "13.4"):
        run = Beside(version, "interface_2", **WINDOWS[0])
        same(version, "interface_2", run.out, alone(version, "interface_2").stdout)
        assert "a profiler on CUPTI's second interface records the GPU now" in run.err, run.err


def test_the_end():
    """A profiler that was forgotten, and one that fetches what is left when the process ends."""
    for version in ("11.7", "13.0"):
        run = Beside(version, "forgotten", **WINDOWS[0])
        same(version, "forgotten", run.out, alone(version, "forgotten").stdout)
        assert sum(map(len, run.ours)) == run.kernels
        check(version, "at_exit", **WINDOWS[0])


def test_off():
    """Nothing of the GPU is to be recorded: nothing is touched."""
    for version in ("13.0", "13.4"):
        run = prof.plain([prof.LAUNCHER, "--activities", "cpu", "--logdir", "/nonexistent/x", "--",
                          client(version), "sessions"],
                         env={**os.environ, **cuda.environment(version)})
        assert run.stdout.count("\n") == alone(version, "sessions").stdout.count("\n")


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
