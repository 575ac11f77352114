#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""Operators of a trace as torch prints them: the same bytes as key_averages().table() of the same events."""
import glob
import json
import os
import sys

import cuda
import prof

VENV = os.path.join(prof.BUILD, "venv", "bin", "python")
PROGRAM = os.path.join(prof.HERE, "progs", "torch_tables.py")


def first_difference(theirs, ours):
    for a, b in zip(theirs.splitlines(), ours.splitlines()):
        if a != b:
            return f"\ntorch {a}\nours  {b}"
    return f"\n{len(theirs.splitlines())} lines, ours {len(ours.splitlines())}"


def same_tables(folder, kind):
    """Compares all tables of all traces; returns how many rows they had."""
    run = prof.plain([VENV, PROGRAM, kind, folder], timeout=500)
    assert run.returncode == 0, run.stderr
    wrong, rows = [], 0
    for path in sorted(glob.glob(os.path.join(folder, "*.tables"))):
        with open(path, encoding="utf-8") as file:
            tables = json.load(file)
        for key, limit, shapes, theirs in tables:
            words = [path.replace(".tables", ".json"), key or "-", str(limit), "shapes" if shapes else "name"]
            ours = prof.plain([prof.prog("report_table"), *words])
            rows += theirs.count("\n")
            if (ours.returncode, ours.stdout) != (0, theirs):
                wrong.append(f"{' '.join(words)}: {ours.stderr}{first_difference(theirs, ours.stdout)}")
    assert not wrong, f"{len(wrong)} tables differ\n" + "\n".join(wrong[:5])
    return rows


def test_a_real_programs_tables_are_torchs():
    with prof.folder() as folder:
        assert same_tables(folder, "real") > 4000


def test_tables_of_events_by_chance_are_torchs():
    with prof.folder() as folder:
        assert same_tables(folder, "made") > 4000


# ---- kernels ----

def plugins_kernels(paths):
    run = prof.plain([VENV, os.path.join(prof.HERE, "progs", "plugin_kernels.py"), *paths], timeout=500)
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout)


def same_kernels(paths):
    """Compares all rows; a mean that no kernel says is 0 there and below 0 here. Returns how many there were."""
    rows = 0
    for path, theirs in zip(paths, plugins_kernels(paths)):
        run = prof.plain([prof.prog("report_table"), path, "kernels"])
        assert run.returncode == 0, run.stderr
        ours = {line.split("\t")[0]: [float(x) for x in line.split("\t")[1:]] for line in run.stdout.splitlines()}
        assert len(ours) == len(theirs), (path, sorted(ours), theirs)
        for name, count, *times, blocks, occupancy in theirs:
            want = [count, *(time * 1000 for time in times), blocks, occupancy]
            got = ours[name][:4] + [max(x, 0) for x in ours[name][4:]]
            assert all(abs(a - b) <= max(2e-3, 1e-9 * abs(a)) for a, b in zip(want[:4], got[:4])), (path, name, want, got)
            assert all(abs(a - b) <= 1e-9 * max(1, abs(a)) for a, b in zip(want[4:], got[4:])), (path, name, want, got)
            rows += 1
    return rows


def test_kernels_are_the_plugins():
    """Of a program on the fake GPU, and of events by chance."""
    with prof.folder() as folder:
        run = prof.plain([VENV, PROGRAM, "made", folder], timeout=500)
        assert run.returncode == 0, run.stderr
        made = sorted(glob.glob(os.path.join(folder, "*.json")))
        gpu = cuda.run("13.0", "loop", 20, os.path.join(folder, "gpu"), marker="none").only().path
        assert same_kernels([gpu]) > 1
        assert same_kernels([path for path in made if '"cat": "kernel"' in open(path, encoding="utf-8").read()]) > 100


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
