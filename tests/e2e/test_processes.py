#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 400
"""Several processes: every rank writes its own windows, workers follow their parent's."""
import os
import sys

import prof

PYTHON = os.path.join(prof.BUILD, "venv", "bin", "python")
FAMILY = os.path.join(prof.HERE, "progs", "family.py")


def family(log, kind, method, **given):
    alone = prof.plain([PYTHON, FAMILY, kind, method])
    run = prof.launch([PYTHON, FAMILY, kind, method], log, **given)
    assert run.out == alone.stdout, (run.out, alone.stdout, run.err)
    assert not run.left_over(), run.left_over()
    for where in ("", "children"):
        if run.paths(where):
            prof.strict(run.paths(where))
    return run


def test_workers_follow():
    """The window is the parent's; the files of workers lie apart."""
    for method in ("fork", "spawn", "forkserver"):
        with prof.folder() as log:
            run = family(log, "loader", method, schedule="wait=4,active=18,repeat=1",
                         profile_memory=True)
            parent = run.only()
            assert f"proflaunch memory {parent.path}\n" in run.err, run.err
            low, high = parent.window()
            workers = run.traces("children")
            assert 1 <= len(workers) <= 2, (method, len(workers), run.err)
            for worker in workers:
                assert worker.pid != parent.pid
                assert worker.named("aten::square") or worker.named("aten::pow"), worker.names()
                assert worker.raw["baseTimeNanoseconds"] == parent.raw["baseTimeNanoseconds"]
                for event in worker.slices:
                    assert event["ts"] < high and event["ts"] + event["dur"] > low, event


def test_children_off():
    with prof.folder() as log:
        run = family(log, "loader", "fork", schedule="wait=1,active=6,repeat=1", children=False)
        run.only()
        assert not run.paths("children")


def test_ranks_write_their_own():
    for method in ("fork", "spawn"):
        with prof.folder() as log:
            run = family(log, "ranks", method, schedule="wait=1,active=2,repeat=1")
            traces = run.traces()
            assert len({trace.pid for trace in traces}) == len(traces) >= 1, run.err
            assert all(len(trace.steps()) == 2 for trace in traces), [t.steps() for t in traces]


def test_exec_again():
    """A program that replaces itself is two programs with one pid."""
    with prof.folder() as log:
        script = ("import os, sys, torch\n"
                  "torch.ones(3).sin()\n"
                  "n = int(sys.argv[1])\n"
                  "print(n, flush=True)\n"
                  "if n: os.execv(sys.executable, [sys.executable, '-c', sys.argv[2], "
                  "str(n - 1), sys.argv[2]])\n")
        run = prof.launch([PYTHON, "-c", script, "2", script], log, marker="none")
        assert run.out == "2\n1\n0\n", run.out
        assert len(run.traces()) == 3, run.err
        assert all(trace.named("aten::sin") for trace in run.traces())


prof.main(sys.modules[__name__])
