#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 400
"""Where steps come from and which of them are recorded, on real torch programs."""
import functools
import json
import os
import sys

import prof

PYTHON = os.path.join(prof.BUILD, "venv", "bin", "python")
LOOPS = os.path.join(prof.HERE, "progs", "loops.py")
KINDS = [("plain", 12), ("plain", 8), ("plain", 2), ("two", 8), ("accumulate", 6), ("patient", 6),
         ("patient_loader", 6), ("compiled", 50), ("validated", 12), ("bare", 8), ("bare", 3), ("infer", 8),
         ("nothing", 50), ("nothing", 20), ("nothing", 3000)]
# Each in a child of a process that has torch already.
ALONE = """
import json, os, runpy, sys, torch
torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1)
said = []
for kind, n in json.loads(sys.argv[2]):
    ours, theirs = os.pipe()
    if not os.fork():
        os.dup2(theirs, 1)
        sys.argv = [sys.argv[1], kind, str(n)]
        runpy.run_path(sys.argv[0], run_name="__main__")
        sys.stdout.flush()
        os._exit(0)
    os.close(theirs)
    with open(ours) as pipe:
        said.append(pipe.read())
    assert os.wait()[1] == 0, kind
print(json.dumps(said))
"""


@functools.cache
def outputs():
    """What each kind prints without us."""
    answer = prof.plain([PYTHON, "-c", ALONE, LOOPS, json.dumps(KINDS)])
    assert answer.returncode == 0, answer.stderr
    return dict(zip(KINDS, json.loads(answer.stdout)))


def loops(log, kind, n=8, **given):
    """Runs a loop; what it prints must be what it prints without us."""
    run = prof.launch([PYTHON, LOOPS, kind, str(n)], log, **given)
    assert run.out == outputs()[kind, n], (run.out, run.err)
    prof.strict(run.paths()) if run.paths() else None
    return run


def numbers(run):
    return [trace.steps() for trace in run.traces()]


def updates(trace, name="Optimizer.step#SGD.step"):
    """How many updates lie in each of the trace's steps."""
    steps = [e for e in trace.slices if e["name"].startswith("ProfilerStep#")]
    return [sum(step["ts"] <= e["ts"] < step["ts"] + step["dur"] for e in trace.named(name))
            for step in steps]


def test_schedule_on_a_loader():
    with prof.folder() as log:
        run = loops(log, "plain", 12, schedule="skip_first=1,wait=1,warmup=1,active=2,repeat=2")
        assert numbers(run) == [[3, 4], [7, 8]], numbers(run)
        assert [updates(trace) for trace in run.traces()] == [[1, 1], [1, 1]]


def test_two_optimizers_are_one_step():
    with prof.folder() as log:
        trace = loops(log, "two", schedule="wait=2,active=3,repeat=1").only()
        assert trace.steps() == [2, 3, 4]
        assert updates(trace) == updates(trace, "Optimizer.step#Adam.step") == [1, 1, 1]


def test_accumulation_is_one_step_per_update():
    with prof.folder() as log:
        trace = loops(log, "accumulate", 6, schedule="wait=1,active=3,repeat=1").only()
        assert trace.steps() == [1, 2, 3]
        assert updates(trace) == [1, 1, 1]
        backwards = [e for e in trace.slices if e["name"].endswith("evaluate_function: MeanBackward0")]
        assert len(backwards) == 9, len(backwards)


def test_the_first_update_is_waited_for():
    """Hundreds of backward passes, before any update was seen, are no steps."""
    for kind in ("patient", "patient_loader"):
        with prof.folder() as log:
            run = loops(log, kind, 6, schedule="wait=1,active=3,repeat=1")
            trace = run.only()
            assert trace.steps() == [1, 2, 3], (kind, trace.steps())
            assert updates(trace) == [1, 1, 1], (kind, updates(trace))
            assert "6 steps ended" in run.err, run.err


def test_zero_grad_shows_the_turns_of_a_compiled_optimizer():
    with prof.folder() as log:
        run = loops(log, "compiled", 50, schedule="wait=1,active=3,repeat=1")
        trace = run.only()
        assert trace.steps() == [1, 2, 3], trace.steps()
        assert updates(trace, "Optimizer.zero_grad#SGD.zero_grad") == [1, 1, 1]
        assert "19 steps ended (backward)" in run.err, run.err


def test_validation_belongs_to_the_next_step():
    with prof.folder() as log:
        trace = loops(log, "validated", 12, schedule="wait=1,active=8,repeat=1").only()
        assert trace.steps() == list(range(1, 9))
        assert updates(trace) == [1] * 8, updates(trace)


def test_no_loader():
    with prof.folder() as log:
        trace = loops(log, "bare", schedule="wait=1,warmup=1,active=3,repeat=1").only()
        assert trace.steps() == [2, 3, 4]
        assert updates(trace) == [1, 1, 1]


def test_inference():
    with prof.folder() as log:
        trace = loops(log, "infer", schedule="wait=1,active=2,repeat=1").only()
        assert trace.steps() == [1, 2]
        assert len(trace.named("aten::linear")) == 2


def test_without_a_schedule():
    """wait=1, warmup=1, active=3, once; and nobody leaves with empty hands."""
    with prof.folder() as log:
        assert loops(log, "plain", 12).only().steps() == [2, 3, 4]
    with prof.folder() as log:
        run = loops(log, "nothing", 50)
        assert len(run.only().named("aten::tanh")) == 50
        assert "marker" in run.err, run.err
    with prof.folder() as log:
        run = loops(log, "plain", 2)
        assert updates(run.only()) or run.only().named("Optimizer.step#SGD.step"), run.err


def test_too_short_for_its_schedule():
    with prof.folder() as log:
        run = loops(log, "bare", 3, schedule="wait=5,warmup=1,active=3")
        assert run.only().steps() == [2, 3], run.err
        assert "--schedule wait=5,warmup=1,active=3 records from step 6 on" in run.err, run.err


def test_markers():
    with prof.folder() as log:
        run = loops(log, "plain", marker="torch:Optimizer.step*", schedule="wait=1,active=2,repeat=1")
        assert numbers(run) == [[1, 2]], numbers(run)
    with prof.folder() as log:
        run = loops(log, "nothing", 20, marker="torch:aten::tanh@begin", schedule="wait=3,active=4,repeat=2")
        assert numbers(run) == [[3, 4, 5, 6], [10, 11, 12, 13]], numbers(run)
    with prof.folder() as log:
        run = loops(log, "plain", marker="none")
        assert run.only().steps() == [] and run.only().named("Optimizer.step#SGD.step")
    with prof.folder() as log:
        run = loops(log, "nothing", 3000, marker="time:2", schedule="wait=1,active=2")
        assert all(len(steps) <= 2 for steps in numbers(run)) and numbers(run), numbers(run)
        ends = [trace.window() for trace in run.traces()]
        assert all(a[1] <= b[0] for a, b in zip(ends, ends[1:]))


def test_programs_own_profiler():
    """Its steps count, and are not doubled."""
    with prof.folder() as log:
        stepper = os.path.join(prof.HERE, "..", "readers", "stepper.py")
        run = prof.launch([PYTHON, stepper, os.path.join(log, "torch")], os.path.join(log, "ours"),
                          schedule="wait=1,warmup=1,active=4,repeat=1")
        trace = run.only()
        assert trace.steps() == [2, 3, 4, 5], trace.steps()


def test_names_and_formats():
    with prof.folder() as log:
        hook = os.path.join(log, "seen")
        run = loops(log, "plain", schedule="wait=1,active=2,repeat=2", format="json.gz",
                    file="run_%q{KIND}_%p", env={"KIND": "a b"}, on_trace=f"echo {{}} >> {hook}",
                    **{"metadata.note": 'say "hi"'})
        traces = run.traces()
        assert len(traces) == 2 and all(t.path.endswith(".pt.trace.json.gz") for t in traces)
        assert all(t.raw["note"] == 'say "hi"' for t in traces), traces[0].raw.keys()
        with open(hook, encoding="utf-8") as file:
            assert sorted(map(os.path.realpath, file.read().split("\n")[:-1])) == \
                sorted(os.path.realpath(t.path) for t in traces)
        assert not run.left_over(), run.left_over()


prof.main(sys.modules[__name__])
