#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""Calls in pieces: who reads them counts each once, steps and annotations keep their length in modules, and a
profile function of the program's own ends none of ours wrongly."""
import json
import os
import pstats
import sys

import prof
from test_python_walk import versions

VENV = os.path.join(prof.BUILD, "venv", "bin", "python")
FULL = {"python_stack": "full"}


def calls(folder, names):
    """Of calls with these names, the second of which is a later piece: function -> how many the report counts."""
    path = os.path.join(folder, "a.pt.trace.json")
    events = [{"ph": "X", "cat": "python_function", "name": name, "pid": 1, "tid": 1, "ts": 1000 + 200 * i, "dur": 100,
               "args": {"Python id": i + 1, "Python parent id": None, **({"Call": "continued"} if i == 1 else {})}}
              for i, name in enumerate(names)]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)
    run = prof.plain([prof.LAUNCHER, "report", "--view", "python", "--format", "json", path])
    return {row["function"]: row["count"] for row in json.loads(run.stdout)["python"]}


def test_the_report_counts_a_call_in_pieces_once():
    with prof.folder() as folder:
        assert calls(folder, ["a.py(1): f"] * 4) == {"f": 3}


def test_a_name_with_an_escape_changes_no_other_calls():
    with prof.folder() as folder:
        assert calls(folder, ["a.py(1): f", 'a"b.py(1): g', "a.py(1): f", "a.py(1): f"]) == {"f": 3, "g": 0}


def test_steps_and_annotations_keep_their_length_in_modules():
    program = """
import time, torch
from torch.profiler import record_function
opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=.1)
class Trainer(torch.nn.Module):
    def forward(self, n):
        global note
        for _ in range(n):
            time.sleep(.02); opt.step()
        note = record_function("across"); note.__enter__()
for _ in range(4):
    Trainer()(3)
    time.sleep(.02); note.__exit__(None, None, None)
"""
    with prof.folder() as log:
        trace = prof.launch([VENV, "-c", program], log, schedule="wait=1,active=8,repeat=1", **FULL).only()
        short = [(e["name"], e["dur"]) for e in trace.slices
                 if (e["name"].startswith("ProfilerStep#") or e["name"] == "across") and e["dur"] < 19000]
        assert not short, short


def test_a_profile_function_of_the_programs_own_in_a_window():
    """Up to 3.11 it takes ours away: a line says so, and what was open does not last until the window's end."""
    program = """
import atexit, cProfile, time
def short():
    p = cProfile.Profile(); p.enable(); p.disable()
def main():
    short(); time.sleep(.3)
main()
"""
    for key, python in versions().items():
        if key[0] < 3 or not 8 <= key[1] <= 11:
            continue
        with prof.folder() as log:
            run = prof.launch([python, "-c", program], log, marker="none", **FULL)
            length = [e["dur"] for e in run.only().slices if e["name"].endswith(": short")]
            assert max(length) < 250000, (key, length)
            assert "calls of Python functions are missing" in run.err, (key, run.err)


def test_who_called_what_an_annotation_begins():
    """As the trace's ids have it, also where what is left of __enter__ is too short for a slice."""
    program = """
import torch
from torch.profiler import record_function
opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=.1)
def train_one():
    with record_function("a"): pass
    opt.step()
for _ in range(8): train_one()
"""
    with prof.folder() as log:
        trace = prof.launch([VENV, "-c", program], log, schedule="wait=2,active=4,repeat=1", **FULL).only()
        ids = {e["args"]["Python id"]: e["name"] for e in trace.slices if e.get("cat") == "python_function"}
        by_id = {e["name"].split("): ")[1] for e in trace.slices if e.get("cat") == "python_function" and
                 ids.get(e["args"]["Python parent id"], "").endswith(": train_one")}
        out = os.path.join(log, "out.prof")
        prof.plain([prof.LAUNCHER, "export", "--pstats", "-o", out, trace.path])
        by_time = {key[2] for key, row in pstats.Stats(out).stats.items() if any(c[2] == "train_one" for c in row[4])}
        assert by_time == by_id, by_time ^ by_id


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
