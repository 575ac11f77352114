#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 200
"""What is recorded can be switched in a running program: by our C function, by torch's
own toggle_collection_dynamic, and from the start by `activities`."""
import os
import sys

import prof

PYTHON = os.path.join(prof.BUILD, "venv", "bin", "python")
PROGRAM = os.path.join(prof.HERE, "progs", "collect.py")


def ops(log, how, **given):
    bare = prof.plain([PYTHON, PROGRAM, how])
    run = prof.launch([PYTHON, PROGRAM, how], log, **given)
    assert run.out == bare.stdout, (run.out, bare.stdout)
    prof.strict(run.paths())
    return [name for name in run.only().names() if name in ("aten::add_", "aten::mul_")]


def test_our_function_switches_operators_off_and_on():
    with prof.folder() as log:
        seen = ops(log, "ours", marker="none")
        assert seen == ["aten::add_", "aten::add_"], seen


def test_torchs_own_switch_is_ours():
    with prof.folder() as log:
        seen = ops(log, "torch", marker="none")
        assert seen == ["aten::add_", "aten::add_"], seen


STEPS = {"marker": "torch:aten::add_", "schedule": "wait=0,active=2,repeat=1", "activities": "cuda"}


def test_without_cpu_activities_no_operator_is_there():
    with prof.folder() as log:
        seen = ops(log, "neither", malloc="count", **STEPS)
        assert seen == [], seen


def test_step_marks_alone_make_no_file():
    with prof.folder() as log:
        run = prof.launch([PYTHON, PROGRAM, "neither"], log, **STEPS)
        assert not run.paths() and not run.left_over(), (run.paths(), run.left_over())
        assert "a window had step marks and nothing else that was recorded" in run.err, run.err
        assert "nothing of a GPU was recorded" in run.err, run.err


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
