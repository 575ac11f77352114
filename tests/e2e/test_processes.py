#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 400
"""Several processes: every rank writes its own windows, workers follow their parent's."""
import functools
import os
import signal
import sys

import prof
from finisher import files, finisher, gone, jobs, start, until

PYTHON = os.path.join(prof.BUILD, "venv", "bin", "python")
FAMILY = os.path.join(prof.HERE, "progs", "family.py")


@functools.cache
def alone(kind, method):
    """What it prints without us."""
    return prof.plain([PYTHON, FAMILY, kind, method]).stdout


def family(log, kind, method, **given):
    run = prof.launch([PYTHON, FAMILY, kind, method], log, **given)
    assert run.out == alone(kind, method), (run.out, run.err)
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


IDLE = """
import os, signal, sys, time, torch
weight = torch.ones(3, requires_grad=True)
steps = torch.optim.SGD([weight], lr=.1)

def step():
    weight.sum().backward()
    steps.step()

ready, tell = os.pipe()
step()
step()
worker = os.fork()          # in the window
if not worker:
    torch.ones(2).sin()
    os.write(tell, b"x")
    if sys.argv[1] == "_exit":
        time.sleep(.7)
        blocks = [bytearray(100000) for _ in range(50)]     # no operator tells of the end
        os._exit(0)
    while True:
        blocks = [bytearray(100000) for _ in range(5)]
        time.sleep(.1)
os.read(ready, 1)
if sys.argv[1] != "_exit":
    os.kill(worker, signal.SIGSTOP)     # nor does a thread of ours come there any more
for _ in range(3):
    step()
time.sleep(.5)
if sys.argv[1] != "_exit":
    os.kill(worker, signal.SIGKILL)
os.waitpid(worker, 0)
if sys.argv[1] == "recover":
    print("over", flush=True)
    time.sleep(600)
"""


def test_an_idle_worker_s_window_ends_with_its_parent_s():
    """No event comes there any more: a thread of ours looks, or else the finisher."""
    for how in ("_exit", "killed"):
        with prof.folder() as log:
            run = prof.launch([PYTHON, "-c", IDLE, how], log, malloc="all",
                              schedule="wait=1,active=2,repeat=1")
            [worker] = run.traces("children")
            assert worker.named("aten::sin"), worker.names()
            late = worker.window()[1] - run.only().window()[1]
            assert abs(late) < 1000, (how, late, run.err)   # us; each has its own clock
            assert "not recorded" not in run.err, run.err


def test_recover_ends_such_a_window_as_well():
    with prof.folder() as log:
        run = start(log, [PYTHON, "-c", IDLE, "recover"], marker="auto",
                    schedule="wait=1,active=2,repeat=1")
        pid = finisher(run)
        os.kill(pid, signal.SIGSTOP)
        assert run.stdout.readline() == "over\n"
        run.kill()              # takes the command along
        os.kill(pid, signal.SIGKILL)
        run.communicate(timeout=60)
        until(lambda: gone(pid))
        again = prof.plain([prof.LAUNCHER, "recover", log])
        assert again.returncode == 0, again.stderr
        [worker], [parent] = files(log, "children"), files(log)
        late = prof.Trace(worker).window()[1] - prof.Trace(parent).window()[1]
        assert abs(late) < 1000, (late, again.stderr)
        assert not jobs(log)


def test_children_off():
    with prof.folder() as log:
        run = family(log, "loader", "fork", schedule="wait=1,active=6,repeat=1", children=False)
        run.only()
        assert not run.paths("children")


@prof.full
def test_ranks_write_their_own():
    for method in ("fork", "spawn"):
        with prof.folder() as log:
            run = family(log, "ranks", method, schedule="wait=1,active=2,repeat=1")
            traces = run.traces()
            assert len({trace.pid for trace in traces}) == len(traces) >= 1, run.err
            assert all(len(trace.steps()) == 2 for trace in traces), [t.steps() for t in traces]


RANK = """
import os, sys, torch
child = os.fork()
if not child:
    weight = torch.ones(3, requires_grad=True)
    steps = torch.optim.SGD([weight], lr=.1)
    for _ in range(6):
        weight.sum().backward()
        steps.step()
    print("trained", flush=True)
    open(sys.argv[1]).read()
    os._exit(0)
os.waitpid(child, 0)
"""


def test_files_of_a_forked_rank_are_there_while_it_runs():
    """It has recorded far less than 1 MiB: torch is why it has a keeper."""
    with prof.folder() as log:
        go = os.path.join(log, "go")
        os.mkfifo(go)
        run = start(log, [PYTHON, "-c", RANK, go], marker="auto", malloc="off",
                    schedule="wait=1,active=1,repeat=2")
        assert run.stdout.readline() == "trained\n"
        until(lambda: len(files(log)) == 2)
        with open(go, "w", encoding="utf-8"):
            pass
        run.communicate(timeout=60)
        assert len(files(log)) == 2, files(log)


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
