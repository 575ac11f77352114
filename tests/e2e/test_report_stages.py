#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""Stages of a run on the reading side: which files are taken, what is never mixed, and that it is said."""
import csv
import io
import json
import os
import sqlite3
import sys

import prof
import test_diff as runs

STAGES = ("train", "validation")


def ask(*words, status=0):
    run = prof.plain([prof.LAUNCHER, *words])
    assert run.returncode == status, (words, run.returncode, run.stderr, run.stdout[:500])
    return run


def staged(folder, stage, window, length=1000, rank=0, job="j"):
    """A file as ours are of that stage; "" = of a run without. Later ones are newer."""
    number = STAGES.index(stage) + 1 if stage else 0
    place = f"{folder}/h_{7 + rank}.{stage}{'.' if stage else ''}{window}.pt.trace.json"
    which = {"number": window, **({"stage": number} if stage else {}), "complete": True}
    head = (f'"stage": "{stage}", ' if stage else "") + '"distributedInfo": {"rank": %d, "world_size": 2}, "proflaunch": %s, ' % (
        rank, json.dumps({"window": which, "process": {"pid": 7 + rank, "parent": 1, "name": "python3", "job": job}, "events": {"operators": 10},
                          "facts": {"script": "fit.py", "torch": {"torch": "2.9"}}}))
    name = {"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": "main"}}
    runs.trace(place, runs.near(length), [name], head)
    staged.time += 1
    os.utime(place, (staged.time, staged.time))
    return place


staged.time = 1700000000


def run_of(top, name="log", by=0):
    """A run of two ranks, two windows a stage; a step of validation is longer. The newest file is of validation."""
    folder = f"{top}/{name}"
    os.mkdir(folder)
    for window in (1, 2):
        for number, stage in enumerate(STAGES):
            for rank in (0, 1):
                staged(folder, stage, window, 1000 + 500 * number + by, rank)
    return folder


def test_the_first_stage_is_reported_and_named():
    with prof.folder() as top:
        log = run_of(top)
        run = ask("report", log)
        assert run.stderr.endswith(
            f"{log}/h_7.train.2.pt.trace.json: rank 0, stage train, window 2, of the newest run; one of 8 traces below {log}: --rank (0 to 1), "
            "--stage (train, validation), --window (1 to 2), or its path chooses another\n"), run.stderr
        assert "process: python3 fit.py (pid 7, rank 0), stage train, window 2\n" in run.stdout, run.stdout
        assert "h_7.validation.2." in ask("report", "--stage", "validation", log).stderr
        assert "h_8.validation.1." in ask("report", "--stage=validation", "--rank", "1", "--window=1", log).stderr
        run = ask("report", "--stage", "test", log, status=2)
        assert "no trace of stage test in the newest run: it has stages train, validation, ranks 0 to 1, and windows 1 to 2" in run.stderr, run.stderr
        run = ask("report", "--stage", "train", f"{log}/h_7.train.2.pt.trace.json", status=2)
        assert "is one trace: --rank, --stage and --window choose below a directory" in run.stderr, run.stderr


def test_every_form_of_the_report_has_it():
    with prof.folder() as top:
        path, plain = staged(top, "validation", 3), staged(top, "", 3)
        rows = {row["what"]: row["value"] for row in csv.DictReader(io.StringIO(ask("report", "--view", "trace", "--format", "csv", path).stdout))}
        assert rows["stage"] == "validation" and rows["window"] == "3", rows
        told = json.loads(ask("report", "--format", "json", path).stdout)
        assert told["schema"] == 1 and told["process"]["stage"] == "validation", told["process"]
        assert "\n- stage validation\n" in ask("report", "--format", "md", path).stdout
        assert json.loads(ask("report", "--format", "json", plain).stdout)["process"]["stage"] is None
        for words in ("--view", "overview"), ("--view", "trace"), ("--format", "md"):
            assert "stage" not in ask("report", *words, plain).stdout, words


def test_a_difference_never_mixes_stages():
    with prof.folder() as top:
        a, b = run_of(top, "a"), run_of(top, "b", 200)
        run = ask("diff", a, b)
        assert run.stderr.count("2 windows of one process, in stage train of the newest run below it, the last ") == 2, run.stderr
        assert "A: 20 steps of 2 files of stage train," in run.stdout and "Steps are 200 us longer" in run.stdout, run.stdout
        assert "other stage" not in run.stdout, run.stdout
        told = json.loads(ask("diff", "--stage", "validation", "--format", "json", a, b).stdout)
        assert told["schema"] == 1 and told["a"]["stage"] == told["b"]["stage"] == "validation" and told["a"]["files"] == 2, told
        assert next(row for row in told["rows"] if row["kind"] == "step")["a"] == 1504.5, told["rows"][0]
        validation = f"{b}/h_7.validation.1.pt.trace.json"
        run = ask("diff", a, validation)
        first = " ".join(run.stdout.split())
        assert first.startswith("other stage: train, then validation: their steps are not of one kind"), first
        assert "a: 20 steps" in first.lower() and "B: 10 steps of 1 file of stage validation," in first, first
        assert "no trace of stage test" in ask("diff", "--stage", "test", a, b, status=2).stderr


def test_a_gate_judges_one_stage():
    with prof.folder() as top:
        a, b, plain = run_of(top, "a"), run_of(top, "b", 200), staged(top, "", 1)
        for words in (), ("--stage", "validation"):
            assert ask("gate", "--baseline", a, *words, b, status=1).stdout.startswith("regression: "), words
        told = json.loads(ask("gate", "--baseline", a, "--stage", "validation", "--format", "json", b, status=1).stdout)
        assert told["run"]["stage"] == "validation" and told["baseline"]["median_us"] == 1504.5, told
        for one in plain, f"{b}/h_7.validation.1.pt.trace.json":
            run = ask("gate", "--baseline", a, one, status=2)
            assert run.stdout.startswith("cannot tell: the runs are of different stages"), run.stdout
        assert ask("gate", "--baseline", plain, plain).stdout.startswith("fine")


def test_ranks_are_those_of_one_stage():
    with prof.folder() as top:
        log = run_of(top)
        run = ask("ranks", log)
        assert "2 files, one for each rank, in stage train of the newest run below it, the first " in run.stderr, run.stderr
        assert "all of it is of stage train" in run.stdout, run.stdout
        told = json.loads(ask("ranks", "--stage", "validation", "--window", "1", "--format", "json", log).stdout)
        assert told["stage"] == "validation" and len(told["ranks"]) == 2 and told["judged_steps"] == 10, told
        assert all(1400 < rank["step"] < 1600 for rank in told["ranks"]), told["ranks"]
        files = f"{log}/h_7.train.1.pt.trace.json", f"{log}/h_8.validation.1.pt.trace.json"
        run = ask("ranks", *files, status=2)
        assert f"{files[0]} is of stage train, {files[1]} of stage validation: name files of one" in run.stderr, run.stderr
        assert "--stage: chooses below one directory" in ask("ranks", "--stage", "train", *files, status=2).stderr
        rows = list(csv.DictReader(io.StringIO(ask("report", "--view", "distributed", "--format", "csv", "--stage", "validation", log).stdout)))
        assert len(rows) == 20, rows


def test_exports_tell_stages_apart():
    with prof.folder() as top:
        log = run_of(top)
        staged(log, "", 5, job="other")
        ask("export", "--sqlite", "-o", f"{top}/a.db", log)
        db = sqlite3.connect(f"{top}/a.db")
        found = db.execute("SELECT stage, count(*) FROM trace GROUP BY 1 ORDER BY 1").fetchall()
        assert found == [(None, 1), ("train", 4), ("validation", 4)], found
        rows = list(csv.DictReader(io.StringIO(ask("export", "--csv", "--view", "steps", "--stage", "validation", "--rank=1", log).stdout)))
        assert {(row["rank"], row["stage"], row["window"]) for row in rows} == {("1", "validation", "1"), ("1", "validation", "2")}, rows
        lines = [json.loads(line) for line in ask("export", "--events", log).stdout.splitlines()]
        assert {line["stage"] for line in lines} == {None, *STAGES}, lines[0]
        names = {profile["name"] for profile in json.loads(ask("export", "--speedscope", log).stdout)["profiles"]}
        assert any("(pid 7, rank 0), stage validation, window 2" in name for name in names), names
        told = ask("export", "--chrome", "--stage", "train", log).stdout
        assert "main (rank 1, stage train, window 2)" in told and "validation" not in told, told[:300]
        assert "there is no trace of rank 3 of stage train" in ask("export", "--csv", "--rank", "3", "--stage", "train", log, status=2).stderr
        assert "there is no trace of stage test\n" in ask("export", "--csv", "--stage", "test", log, status=2).stderr


def test_memory_says_the_stage_of_each_file():
    with prof.folder() as top:
        log = run_of(top)
        text = ask("memory", log).stdout
        assert "h_8.validation.1.pt.trace.json  stage validation\n" in text and "(pid 7, rank 0), stage validation, window " in text, text
        told = json.loads(ask("memory", "--json", log).stdout)
        assert sorted(file["stage"] for file in told["files"]) == ["train"] * 4 + ["validation"] * 4, told


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
