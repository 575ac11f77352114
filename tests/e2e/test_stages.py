#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 400
"""Stages of a run: the steps of each, in files of its own, told by a framework's functions or by the script's."""
import json
import os
import re
import sys

import prof

sys.path.append(os.path.join(prof.HERE, "progs"))
PYTHON = os.path.join(prof.BUILD, "venv", "bin", "python")
WHOLE = "wait=0,warmup=0,active=1000"    # a file for each visit to a stage, with all of its steps
# As in progs/stages_told.py: the operator that shows a batch at work, and the one that shows it being loaded.
WORK = {"train": "sin", "validation": "cos", "test": "tan", "predict": "atan"}
LOAD = {"train": "sinh", "validation": "cosh", "test": "asinh", "predict": "atanh"}

LIGHTNING = [("validation", 0, 2), ("train", 0, 5), ("validation", 2, 5), ("train", 5, 5), ("validation", 7, 5),
             ("train", 10, 5), ("validation", 12, 5), ("train", 15, 5), ("validation", 17, 5),
             ("test", 0, 6), ("predict", 0, 7)]
HF = [("train", 0, 4), ("validation", 0, 3), ("train", 4, 2), ("train", 6, 2), ("validation", 3, 3),
      ("train", 8, 4), ("validation", 6, 3), ("predict", 0, 5)]
ACCELERATE = [("train", 0, 8), ("validation", 0, 4), ("train", 8, 8), ("validation", 4, 4)]
PLAIN = [("train", 0, 4), ("validation", 0, 3), ("train", 4, 4), ("validation", 3, 3), ("train", 8, 4),
         ("validation", 6, 3)]
WITHIN = {"stage.train.within": "python:train", "stage.validation.within": "python:validate"}
MARKERS = {"stage.train.marker": "python:train_step", "stage.validation.marker": "python:validate_step"}


class File:
    """A file, and which stage it says it is of."""

    def __init__(self, path):
        self.trace = prof.Trace(path)
        self.stage, self.steps = self.trace.raw["stage"], self.trace.steps()
        self.name = os.path.basename(path)
        self.marks = [(step["ts"], step["ts"] + step["dur"]) for step in self.trace.slices
                      if step["name"].startswith("ProfilerStep#")]

    def visit(self):
        assert self.steps == list(range(self.steps[0], self.steps[0] + len(self.steps))), (self.name, self.steps)
        return self.stage, self.steps[0], len(self.steps)

    def of_steps(self, name):
        """How many operators of that name each of the steps has."""
        found = [e["ts"] for e in self.trace.named("aten::" + name)]
        return [sum(begin <= ts < end for ts in found) for begin, end in self.marks]

    def at(self, time_ns):
        """In the trace's own time."""
        return (time_ns - self.trace.raw["baseTimeNanoseconds"]) / 1e3


def needs(package):
    found = prof.plain([PYTHON, "-c", f"import importlib.util as u, sys; sys.exit(u.find_spec({package!r}) is None)"])
    if found.returncode:
        raise prof.Skip(f"{package} is not installed: make check installs it (tests/setup.sh {package})")


def launch(log, program, *, how="", env=(), **given):
    """The files in the order of their windows, what the program says of itself, and the finished command."""
    run = prof.launch([PYTHON, os.path.join(prof.HERE, "progs", f"stages_{program}.py")], log,
                      env={"HOW": how, **dict(env)}, **given)
    files = [File(path) for path in run.paths()]
    if files:
        prof.strict(run.paths())
    assert not run.left_over(), run.left_over()
    return files, json.loads(run.out.splitlines()[-1]), run


def visits(files):
    return [file.visit() for file in files]


def check_names(files):
    for file in files:
        assert re.fullmatch(rf".*_\d+\.{file.stage}\.\d{{19}}\.pt\.trace\.json(\.gz)?", file.name), (file.stage, file.name)
    assert len({file.trace.pid for file in files}) == 1, [file.name for file in files]


def check_no_other(file, said, tail_may_load=False):
    """Nothing of another stage's batches: neither an operator of theirs, nor anything while one was at work."""
    for stage in WORK:
        if stage == file.stage:
            continue
        assert not file.trace.named("aten::" + WORK[stage]), (file.name, stage)
        loads = sum(file.of_steps(LOAD[stage])) if tail_may_load else len(file.trace.named("aten::" + LOAD[stage]))
        assert not loads, (file.name, stage, loads)
        for begin, end in said.get(stage, {"spans": []})["spans"]:
            inside = [e["name"] for e in file.trace.slices
                      if e["name"].startswith("aten::") and file.at(begin) <= e["ts"] < file.at(end)]
            assert not inside, (file.name, stage, inside)


def check_own(file, said, batches=1):
    """Each step has the work on its own batches, no other's."""
    assert file.of_steps(WORK[file.stage]) == [batches] * len(file.steps), (file.name, file.of_steps(WORK[file.stage]))
    for step, (begin, end) in zip(file.steps, file.marks):
        for first, _ in said[file.stage]["spans"][step * batches:(step + 1) * batches]:
            assert begin < file.at(first) < end, (file.name, step, begin, end, file.at(first))


def check_updates(file):
    """A step of training has its own backward pass and one update."""
    updates = [e["ts"] for e in file.trace.named("Optimizer.step#SGD.step")]
    backward = [e["ts"] for e in file.trace.slices if e["name"].endswith("evaluate_function: MeanBackward0")]
    for begin, end in file.marks:
        inside = [sum(begin <= ts < end for ts in of) for of in (updates, backward)]
        assert inside[0] == 1 and inside[1] >= 1, (file.name, inside)


def check(files, said, wanted, batches=None, **also):
    assert visits(files) == wanted, visits(files)
    check_names(files)
    for file in files:
        check_no_other(file, said, **also)
        check_own(file, said, (batches or {}).get(file.stage, 1))
        if file.stage == "train":
            check_updates(file)
    for stage, of in said.items():
        steps = sum(count for name, _, count in wanted if name == stage)
        assert of["batches"] == steps * (batches or {}).get(stage, 1), (stage, of["batches"])


# ---- presets ----

def lightning(package, **env):
    needs(package.split(".")[0])
    with prof.folder() as log:
        files, said, _ = launch(log, "lightning", env={"PACKAGE": package, **env}, preset="lightning", schedule=WHOLE)
        check(files, said, LIGHTNING)
        return [file.of_steps(LOAD[file.stage]) for file in files], files


def test_lightning():
    """Its sanity check is validation, before any training; each step loads its own batch."""
    loads, files = lightning("lightning.pytorch")
    assert loads == [[1] * len(file.steps) for file in files], loads


def test_lightning_by_its_other_name():
    lightning("pytorch_lightning")


@prof.full
def test_lightning_with_workers():
    """They load, and have no steps and no files."""
    loads, files = lightning("lightning.pytorch", WORKERS="1")
    assert loads == [[0] * len(file.steps) for file in files], loads


def test_hf():
    """A step is an update, of two batches; its loader is one batch ahead."""
    needs("transformers")
    needs("accelerate")
    with prof.folder() as log:
        files, said, _ = launch(log, "hf", preset="hf", schedule=WHOLE)
        check(files, said, HF, {"train": 2})
        assert files[0].of_steps("sinh") == [3, 2, 2, 2], files[0].of_steps("sinh")


def test_hf_with_a_plan_for_each():
    """The user's lines count over the preset's."""
    needs("transformers")
    needs("accelerate")
    with prof.folder() as log:
        files, said, _ = launch(log, "hf", preset="hf", schedule=WHOLE, **{
            "stage.train.schedule": "wait=3,active=2", "stage.validation.schedule": "wait=2,active=1",
            "stage.predict.file": ".guess"})
        assert visits(files) == [("train", 3, 1), ("validation", 2, 1), ("train", 4, 1), ("validation", 5, 1),
                                 ("train", 8, 2), ("validation", 8, 1), ("predict", 0, 5)], visits(files)
        assert ".guess." in files[-1].name, files[-1].name
        for file in files:
            check_no_other(file, said)
            check_own(file, said, 2 if file.stage == "train" else 1)


def test_accelerate():
    needs("accelerate")
    with prof.folder() as log:
        files, said, _ = launch(log, "accelerate", preset="accelerate", schedule=WHOLE)
        check(files, said, ACCELERATE)


def test_accelerate_with_a_model_of_transformers():
    """Such a model's eval() does not call torch's."""
    needs("accelerate")
    needs("transformers")
    with prof.folder() as log:
        files, said, _ = launch(log, "accelerate", how="transformers", preset="accelerate", schedule=WHOLE)
        check(files, said, ACCELERATE)


def test_accelerate_with_a_frozen_part():
    """It is set to evaluation after train(): training begins with the first backward pass then."""
    needs("accelerate")
    with prof.folder() as log:
        files, said, _ = launch(log, "accelerate", how="frozen", preset="accelerate", schedule=WHOLE)
        assert visits(files) == ACCELERATE, visits(files)
        for file in files:
            check_no_other(file, said)
            begins = 0 if file.stage == "train" else 1
            wanted = [begins] + [1] * (len(file.steps) - 1)
            assert file.of_steps(WORK[file.stage]) == wanted, file.of_steps(WORK[file.stage])


# ---- the script's own functions ----

def test_markers_alone():
    """A call of a stage's marker begins the stage: what is loaded before the first is still the other's."""
    with prof.folder() as log:
        files, said, _ = launch(log, "plain", schedule=WHOLE,
                                stage=["train=python:train_step", "validation=python:validate_step"])
        check(files, said, PLAIN, tail_may_load=True)


def test_within_functions():
    """validate() is called by train()."""
    with prof.folder() as log:
        files, said, _ = launch(log, "plain", schedule=WHOLE, **MARKERS, **WITHIN)
        check(files, said, PLAIN)


def test_an_exception_leaves_a_stage():
    with prof.folder() as log:
        files, said, _ = launch(log, "plain", how="raises", schedule=WHOLE, **MARKERS, **WITHIN)
        check(files, said, PLAIN)


def test_enter_and_leave():
    """By two functions, no call of which lasts as long as the stage."""
    with prof.folder() as log:
        files, said, _ = launch(log, "plain", schedule=WHOLE, **MARKERS, **{
            "stage.train.within": "python:train", "stage.validation.enter": "python:begin_validation",
            "stage.validation.leave": "python:end_validation"})
        check(files, said, PLAIN)


def test_enter_alone():
    """A stage is on until another is entered."""
    with prof.folder() as log:
        files, _, _ = launch(log, "plain", schedule=WHOLE, **MARKERS, **{
            "stage.train.enter": "python:end_validation",
            "stage.validation.enter": "python:begin_validation@end"})
        assert visits(files) == [("validation", 0, 3), ("train", 0, 4), ("validation", 3, 3), ("train", 4, 4),
                                 ("validation", 6, 3)], visits(files)


def test_a_stage_alone():
    """What is in no stage is not recorded, and ends no step."""
    with prof.folder() as log:
        files, said, _ = launch(log, "plain", schedule=WHOLE, **{
            "stage.validation.marker": "python:validate_step", "stage.validation.within": "python:validate"})
        assert visits(files) == [visit for visit in PLAIN if visit[0] == "validation"], visits(files)
        for file in files:
            check_no_other(file, said)
            check_own(file, said)


def test_plans():
    """A plan counts its own stage's steps, and goes on at the next visit where it stopped."""
    with prof.folder() as log:
        files, said, _ = launch(log, "plain", **MARKERS, **WITHIN, **{
            "stage.train.schedule": "wait=1,active=2", "stage.validation.schedule": "skip_first=1,wait=0,active=4"})
        assert visits(files) == [("train", 1, 2), ("validation", 1, 2), ("train", 4, 2), ("train", 7, 1),
                                 ("validation", 3, 2), ("validation", 5, 1), ("train", 8, 1), ("train", 10, 2),
                                 ("validation", 6, 3)], visits(files)
        for file in files:
            check_no_other(file, said)
            check_own(file, said)


def test_a_plan_that_ends():
    with prof.folder() as log:
        files, _, _ = launch(log, "plain", **MARKERS, **WITHIN, **{
            "stage.train.schedule": "wait=1,active=5,repeat=1", "stage.validation.schedule": "wait=100,active=1"})
        assert visits(files) == [("train", 1, 3), ("train", 4, 2)], visits(files)


def test_the_default_plan_is_each_ones():
    with prof.folder() as log:
        files, _, _ = launch(log, "plain", **MARKERS, **WITHIN)
        assert visits(files) == [("train", 2, 2), ("validation", 2, 1), ("train", 4, 1), ("validation", 3, 2)], visits(files)


def test_a_function_that_is_missing_is_said():
    """The other stage has its files all the same."""
    with prof.folder() as log:
        files, _, run = launch(log, "plain", schedule=WHOLE, **{**MARKERS, **WITHIN,
                                                                "stage.validation.marker": "python:validate_stpe"})
        assert {file.stage for file in files} == {"train"}, visits(files)
        assert "python:validate_stpe" in run.err and "did you mean validate_step?" in run.err, run.err


def test_one_function_by_two_names():
    """It begins the stage and ends its step, whichever is which."""
    with prof.folder() as log:
        files, _, _ = launch(log, "plain", schedule=WHOLE, **{
            "stage.validation.marker": "python:validate", "stage.validation.within": "python:stages_plain.validate"})
        assert visits(files) == [("validation", number, 1) for number in range(3)], visits(files)
        files, _, _ = launch(log, "plain", schedule=WHOLE, **{
            "stage.other.marker": "python:stages_plain.validate", "stage.other.within": "python:validate"})
        assert [v for v in visits(files) if v[0] == "other"] == [("other", number, 1) for number in range(3)], visits(files)


def test_a_misspelt_way_in_is_said():
    """The marker was called, and the stage never on."""
    with prof.folder() as log:
        files, _, run = launch(log, "plain", schedule=WHOLE, **{
            "stage.validation.marker": "python:validate_step", "stage.validation.within": "python:validat"})
        assert not files, visits(files)
        assert "no stage was entered" in run.err and "did you mean validate?" in run.err, run.err


def test_more_names_than_are_looked_for_are_said():
    with prof.folder() as log:
        names = "|".join(f"n{number}" for number in range(50))
        files, _, run = launch(log, "plain", schedule=WHOLE, **{
            **MARKERS, "stage.validation.within": f"python:{names}"})
        assert {file.stage for file in files} == {"train"}, visits(files)
        assert "more than 48 names are looked for" in run.err, run.err


def test_a_preset_of_another_framework_is_said():
    with prof.folder() as log:
        files, _, run = launch(log, "plain", preset="hf", schedule=WHOLE)
        assert not files, visits(files)
        assert "is it the preset of what this program uses?" in run.err, run.err


def test_steps_are_the_same_without_us():
    """What the program says of itself, but for the times."""
    def counts(said):
        return {stage: of["batches"] for stage, of in said.items()}

    bare = prof.plain([PYTHON, os.path.join(prof.HERE, "progs", "stages_plain.py")])
    with prof.folder() as log:
        _, said, _ = launch(log, "plain", **MARKERS, **WITHIN)
        assert counts(json.loads(bare.stdout)) == counts(said), (bare.stdout, bare.stderr)


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
