#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""What the trace says, behind the lines of a run's end: on a terminal, and with --report."""
import os
import pty
import re
import select
import subprocess
import sys
import time

import prof

VENV = os.path.join(prof.BUILD, "venv", "bin", "python")

PROGRAM = """
import sys, torch
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    model(torch.randn(32, 64)).sum().backward()
    optimizer.step()
print("the program's own")
sys.exit(7)
"""


def on_terminal(log, *words, code=PROGRAM):
    """(status, stdout, stderr) of a run whose stderr is a terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen([prof.LAUNCHER, "--logdir", log, *words, "--", VENV, "-c", code],
                               stdout=subprocess.PIPE, stderr=slave, stdin=subprocess.DEVNULL, text=True)
    os.close(slave)
    said, until = b"", time.monotonic() + 200
    while time.monotonic() < until:
        if select.select([master], [], [], 1)[0]:
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            if not part:
                break
            said += part
    out, _ = process.communicate(timeout=100)
    os.close(master)
    return process.returncode, out, re.sub("\x1b\\[[0-9;]*m", "", said.decode()).replace("\r\n", "\n")


def test_a_terminal_sees_three_lines():
    with prof.folder() as log:
        status, out, said = on_terminal(log, "--schedule", "wait=1,warmup=1,active=4,repeat=1")
        assert status == 7 and out == "the program's own\n", (status, out)
        lines = [line.removeprefix("proflaunch: ") for line in said.splitlines()]
        at = next(i for i, line in enumerate(lines) if line.startswith("4 steps of "))
        assert "CPU Exec " in lines[at], lines
        assert any(line.startswith("largest operator: ") and " a step of its own" in line for line in lines[at + 1:at + 3]), lines
        assert any(line.startswith("where the time went: proflaunch report ") for line in lines[at + 2:at + 4]), lines
        assert all(line.startswith("proflaunch: ") for line in said.splitlines() if line.strip()), said


def test_nobody_looks_and_nothing_is_read():
    with prof.folder() as log:
        run = prof.launch([VENV, "-c", PROGRAM], log, check=False)
        assert run.status == 7 and "where the time went" in run.err, run.err
        assert "largest operator" not in run.err and "steps of" not in run.err, run.err
        _, _, said = on_terminal(log, "--quiet")
        assert "largest operator" not in said and "where the time" not in said, said


def test_a_report_is_asked_for():
    with prof.folder() as log:
        run = prof.launch([VENV, "-c", PROGRAM], log, check=False, report=True, schedule="wait=1,warmup=1,active=4,repeat=1")
        assert run.status == 7 and run.out == "the program's own\n", run.out
        text = run.err[run.err.index("trace file"):]
        assert "4 steps of " in text and "Operators, time of their own" in text, run.err
        assert "where the time went" not in text, run.err
        status, out, said = on_terminal(log, "--report")
        assert status == 7 and out == "the program's own\n" and "Operators, time of their own" in said, said


STAGED = """
import json, os
for number, stage in (1, "train"), (2, "validation"):
    events = [{"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": 1000 * i, "dur": 1000 * number}
              for i in range(4) for cat, name in (("user_annotation", f"ProfilerStep#{i}"), ("cpu_op", "aten::mm"))]
    path = os.path.join(LOG, f"z.{stage}.pt.trace.json")
    head = {"window": {"number": 1, "stage": number, "complete": True}, "process": {"pid": 1, "job": "later"}, "events": {"operators": 4}}
    json.dump({"stage": stage, "proflaunch": head, "traceEvents": events}, open(path, "w"))
    os.utime(path, (4e9 + number, 4e9 + number))
print("the program's own")
"""


def test_the_first_stage_is_shown():
    """Of a run with files of several stages it is training, though validation is newer. The files of two windows are beside."""
    plan = "wait=0,warmup=0,active=2,repeat=2"
    with prof.folder() as log:
        code = PROGRAM.replace('print("the program\'s own")', STAGED.replace("LOG", repr(log)))
        _, _, said = on_terminal(log, "--schedule", plan, code=code)
        assert "proflaunch: stage train: 4 steps of 1.00 ms" in said and "validation" not in said, said
    with prof.folder() as log:
        code = PROGRAM.replace('print("the program\'s own")', STAGED.replace("LOG", repr(log)))
        run = prof.launch([VENV, "-c", code], log, check=False, report=True, schedule=plan)
        assert "4 steps of 1.00 ms" in run.err and "4 steps of 2.00 ms" not in run.err, run.err


@prof.full
def test_a_file_that_takes_long_says_nothing():
    """Half a second is the most: an older run's file is not what is shown, but a newer one's may be large."""
    with prof.folder() as log:
        later = f"""
import json, os
events = [{{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": i, "dur": 1}} for i in range(1500000)]
path = os.path.join({log!r}, "z.pt.trace.json")
json.dump({{"traceEvents": events}}, open(path, "w"))
os.utime(path, (4e9, 4e9))
"""
        # Two processes with files: the directory is looked into, and its newest file is the large one.
        child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {PROGRAM!r}])\n"
        begin = time.monotonic()
        _, _, said = on_terminal(log, "--children", "each", code=child + PROGRAM.replace("sys.exit(7)", later))
        assert "where the time went: proflaunch report" in said, said
        assert "1 step of 1.5" not in said and "largest operator: aten::mm, 1.5" not in said, said
        assert time.monotonic() - begin < 150


def test_lost_files_are_no_trouble():
    with prof.folder() as log:
        status, _, said = on_terminal(log, "--on-trace", "rm {}")
        assert status == 7 and "largest operator" not in said, said


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
