#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""The closing words count what is in the files, and name what was seen and who had the agent."""
import os
import re
import shutil
import sys

import prof

PYTHON = os.path.join(prof.BUILD, "venv", "bin", "python")

LOOP = """
import sys, torch
m = torch.nn.Linear(8, 8)
o = torch.optim.SGD(m.parameters(), lr=.1)
for _ in range(12):
    with torch.profiler.record_function("mine#1"):
        m(torch.randn(4, 8)).sum().backward()
        o.step()
"""


def events(trace):
    """What has a place in time, but for the marks of steps, of the window and of counters."""
    return [e for e in trace.raw["traceEvents"]
            if (e["ph"] == "X" and e["cat"] != "Trace" and not e["name"].startswith("ProfilerStep#")) or
            (e["ph"] == "i" and "cat" in e)]


def counts(run):
    """As the closing words tell them: steps, events; of a run without steps its events alone."""
    found = re.search(r"proflaunch: \d+ trace files? in .*?: (?:([\d,]+) steps?, )?([\d,]+) events?", run.err)
    assert found, run.err
    return [int((n or "0").replace(",", "")) for n in found.groups()]


def test_what_is_in_the_file_is_counted():
    for given in ({}, {"malloc": "all"}, {"marker": "torch:mine#*", "profile_memory": True},
                  {"marker": "none", "malloc": "all"}):
        with prof.folder() as log:
            run = prof.launch([PYTHON, "-c", LOOP], log, children="off", **given)
            traces = run.traces()
            assert counts(run) == [sum(len(t.steps()) for t in traces),
                                   sum(len(events(t)) for t in traces)], (given, run.err)


OLD = """
import ctypes, os, sys
getattr(ctypes.CDLL(sys.argv[1]), "PyInit_torch", None)      # as an import asks
if len(sys.argv) == 2:
    os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", sys.orig_argv[2], sys.argv[1], "child"])
"""


def test_a_torch_that_cannot_be_observed_is_told_once():
    """torch 1.7 and older: a function that switches callbacks is not there."""
    with prof.folder() as work:
        library, log = os.path.join(work, "libtorch_cpu.so.1.7.0"), os.path.join(work, "log")
        shutil.copy(os.path.join(prof.BUILD, "fake", "torch", "half.so"), library)
        program = [sys.executable, "-c", OLD, library]
        run = prof.launch(program, log)
        assert run.err.count("this PyTorch (1.7.0) lacks functions by which it is observed") == 1, run.err
        assert "nothing was recorded: the PyTorch of this run lacks functions" in run.err, run.err
        run = prof.launch(program, log, malloc="all")
        assert run.err.count("this PyTorch (1.7.0) lacks functions by which it is observed") == 1, run.err
        assert "on the heap: " in run.err and "nothing was recorded" not in run.err, run.err


def test_the_programs_own_steps_are_counted():
    with prof.folder() as log:
        stepper = os.path.join(prof.HERE, "..", "readers", "stepper.py")
        run = prof.launch([PYTHON, stepper, os.path.join(log, "torch")], os.path.join(log, "ours"))
        trace = run.only()
        steps = len(trace.steps())      # each is an annotation of the program's as well
        assert steps and counts(run) == [steps, len(events(trace)) + steps], run.err


def test_a_marker_that_never_matches():
    with prof.folder() as log:
        run = prof.launch([PYTHON, "-c", LOOP], log, marker="torch:nobody")
        assert re.search(r"the marker torch:nobody never matched, so the whole run was kept as one "
                         r"step\. Seen: (mine#1|Optimizer\.step#SGD\.step) 12×", run.err), run.err


def test_the_users_plan_stays_in_the_advice():
    with prof.folder() as log:
        run = prof.launch([PYTHON, "-c", LOOP], log, schedule="wait=40,active=3")
        assert ("--schedule wait=40,active=3 records from step 40 on, and only 12 steps ended (Optimizer.step): "
                "the file has 3 steps from step 8 on, recorded in case of that; this run as planned: "
                "--schedule wait=9,active=3\n") in run.err, run.err
        trace = run.only()
        assert sorted(trace.steps()) == [8, 9, 10], trace.steps()
        assert trace.facts["window"]["before the schedule's first window"] is True, trace.facts["window"]


def test_an_early_window_outlives_a_kill():
    with prof.folder() as log:
        run = prof.launch([PYTHON, "-c", LOOP + "import os; os.kill(os.getpid(), 9)"], log, check=False,
                          schedule="wait=40,active=3")
        assert sorted(run.only().steps()) == [8, 9, 10], run.err
        assert "the file has 3 steps from step 8 on" in run.err, run.err


def test_no_early_window_stays_when_the_plan_is_reached():
    with prof.folder() as log:
        run = prof.launch([PYTHON, "-c", LOOP], log, schedule="wait=10,active=1,repeat=1")
        assert sorted(run.only().steps()) == [10] and "in case of that" not in run.err, run.err


LOADER = """
import torch
from torch.utils.data import DataLoader, TensorDataset
m = torch.nn.Linear(8, 8)
o = torch.optim.SGD(m.parameters(), lr=.1)
for x, in DataLoader(TensorDataset(torch.randn(64, 8)), batch_size=8):
    m(x).sum().backward()
    o.step()
"""

PLUGIN = """
import sys, tempfile
from torch_tb_profiler.profiler.data import RunProfileData
with tempfile.TemporaryDirectory() as cache:
    profile = RunProfileData.parse("worker", 1, sys.argv[1], cache)
    profile.process()
    print(sum(step.costs[5] for step in profile.steps_costs))
"""


def test_where_the_plugin_shows_no_data_loader():
    """What is said of the dialects is what torch-tb-profiler makes of them."""
    line = "torch-tb-profiler 0.4.3 shows no time for DataLoader in files of this dialect"
    for dialect, shown in (("kineto", False), ("tb043", True)):
        with prof.folder() as log:
            run = prof.launch([PYTHON, "-c", LOADER], log, dialect=dialect)
            assert (line in run.err) == (not shown), run.err
            seen = prof.plain([PYTHON, "-c", PLUGIN, run.only().path])
            assert (float(seen.stdout.split()[-1]) > 0) == shown, (seen.stdout, seen.stderr)


def test_processes_are_named():
    with prof.folder() as log:
        run = prof.launch(["sh", "-c", "ls > /dev/null; ls > /dev/null; env true"], log, marker="none",
                          malloc="all")
        assert re.search(r"proflaunch: \d files of \d processes: ls 2, ", run.err), run.err


prof.main(sys.modules[__name__])
