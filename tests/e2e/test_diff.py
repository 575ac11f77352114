#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""`proflaunch diff` and `gate`: what two runs differ in, and whether that is sure."""
import csv
import io
import json
import os
import sys
import xml.etree.ElementTree

import prof

VENV = os.path.join(prof.BUILD, "venv", "bin", "python")

TORCH = """
import sys, torch
torch.set_num_threads(1)
size, steps = int(sys.argv[1]), int(sys.argv[2])
model = torch.nn.Linear(size, size)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, size)
for _ in range(steps):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
"""


def verb(*words, status=0):
    run = prof.plain([prof.LAUNCHER, *words])
    assert run.returncode == status, (words, run.returncode, run.stderr, run.stdout[:500])
    return run


def trace(place, steps, extra=(), head=""):
    """A file with these steps, in us; each is half aten::mm, and a tenth a kernel."""
    events, at = [], 1000
    for number, length in enumerate(steps):
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 1, "tid": 1, "ts": at, "dur": length},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": at + 1, "dur": length / 2,
             "args": {"External id": number + 1}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 2, "dur": 1,
             "args": {"correlation": number + 1, "External id": number + 1}},
            {"ph": "X", "cat": "kernel", "name": "gemm<int>", "pid": 0, "tid": 7, "ts": at + 5, "dur": length / 10,
             "args": {"correlation": number + 1, "External id": number + 1, "device": 0, "stream": 7}},
            {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": at + 3,
             "args": {"Device Type": 0, "Device Id": -1, "Addr": 1, "Bytes": 8, "Total Allocated": int(1000 * length)}}]
        at += length
    with open(place, "w", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, %s"traceEvents": %s}' % (head, json.dumps(events + list(extra))))
    return place


def near(number, by=1.0):
    """Steps around a length that differ a little."""
    return [number + by * (i * 7 % 10) for i in range(10)]


def test_a_longer_step_is_seen_and_where():
    with prof.folder() as top:
        a, b = trace(f"{top}/a.json", near(1000)), trace(f"{top}/b.json", near(1200))
        run = verb("diff", a, b)
        assert run.stdout.find("Steps are 200 us longer (+20 %; ") >= 0, run.stdout
        assert "aten::mm" in run.stdout and "gemm<int>" in run.stdout and "cpu" in run.stdout
        out = json.loads(verb("diff", "--format", "json", a, b).stdout)
        assert out["schema"] == 1 and out["a"]["steps"] == out["b"]["steps"] == 10
        rows = {(row["kind"], row["name"]): row for row in out["rows"]}
        assert rows["step", "step"]["difference"] == 200 and rows["step", "step"]["sure"]
        assert rows["operator", "aten::mm"]["difference"] == 100
        assert rows["gpu", "gemm<int>"]["difference"] == 20
        assert rows["share", "Kernel"]["difference"] == 20
        assert rows["peak", "cpu"]["difference_bytes"] == 200000 and rows["peak", "cpu"]["a"] is None
        table = list(csv.DictReader(io.StringIO(verb("diff", "--format", "csv", a, b).stdout)))
        assert {(row["kind"], row["name"]) for row in table} == set(rows)
        other = verb("diff", "--format", "md", b, a).stdout
        assert other.find("Steps are 200 us shorter") > 0 and "| aten::mm" in other.replace("`", "") or "`aten::mm`" in other, other


def test_what_varies_is_no_difference():
    with prof.folder() as top:
        a, b = trace(f"{top}/a.json", near(1000, 20)), trace(f"{top}/b.json", near(1003, 20))
        run = verb("diff", a, b)
        assert "No difference of steps stands out from the noise" in run.stdout, run.stdout
        run = verb("diff", trace(f"{top}/c.json", [1000]), b)
        assert "Too few steps to be sure of anything: 1 and 10" in run.stdout, run.stdout
        same = json.loads(verb("diff", "--format", "json", a, a).stdout)
        assert not any(row["sure"] for row in same["rows"])
        assert all(row["difference"] in (0, None) for row in same["rows"]), same


def test_doubts_stand_first():
    head = '"deviceProperties": [{"id": 0, "name": "%s"}], "proflaunch": {"drops": {"operators": 7}, "facts": {"script": "%s"}}, '
    with prof.folder() as top:
        a = trace(f"{top}/a.json", near(1000), head=head % ("NVIDIA A", "one.py"))
        b = trace(f"{top}/b.json", near(1000), head=head % ("NVIDIA B", "two.py"))
        text = verb("diff", a, b).stdout
        first = text[:text.index("No difference")]
        for word in ("7 records of A are missing", "7 records of B", "NVIDIA A, then NVIDIA B", "one.py, then two.py"):
            assert word in " ".join(first.split()), (word, first)
        assert verb("gate", "--baseline", a, b, status=2).stdout.startswith("cannot tell: the runs are of different GPUs")
        assert "records are missing" in verb("gate", "--baseline", a, a, status=2).stdout


def test_verdicts():
    with prof.folder() as top:
        a, slower = trace(f"{top}/a.json", near(1000)), trace(f"{top}/b.json", near(1100))
        few, wide = trace(f"{top}/c.json", [1000]), trace(f"{top}/d.json", near(1000, 100))
        text = verb("gate", "--baseline", a, slower, status=1).stdout
        assert text.startswith("regression: a step is 1.00 ms, then 1.10 ms: +10 % ("), text
        assert "  aten::mm: " in text and "more a step" in text
        assert verb("gate", "--baseline", a, a).stdout.startswith("fine: a step is 1.00 ms, then 1.00 ms")
        assert verb("gate", "--baseline", a, "--max-regression", "20%", slower).returncode == 0
        assert verb("gate", "--baseline", slower, a).returncode == 0
        assert "4 steps or more on each side" in verb("gate", "--baseline", a, few, status=2).stdout
        assert "vary too much" in verb("gate", "--baseline", wide, wide, status=2).stdout
        assert verb("gate", "--baseline", a, "--metric", "gpu", slower, status=1).stdout.startswith("regression: GPU work")
        assert "KiB" in verb("gate", "--baseline", a, "--metric", "peak-memory", slower, status=1).stdout
        assert "aten::mm in a step" in verb("gate", "--baseline", a, "--metric", "ops/aten::mm", slower, status=1).stdout
        assert "neither side" in verb("gate", "--baseline", a, "--metric", "ops/none", slower, status=2).stdout


def test_formats_of_a_verdict():
    with prof.folder() as top:
        a, slower = trace(f"{top}/a.json", near(1000)), trace(f"{top}/b.json", near(1100))
        out = json.loads(verb("gate", "--baseline", a, "--format", "json", slower, status=1).stdout)
        assert out["verdict"] == "regression" and out["metric"] == "step" and out["max_regression"] == 3
        assert out["baseline"]["n"] == 10 and out["baseline"]["median_us"] == 1004.5
        low, by, high = out["shift"]["percent"]
        assert low <= by <= high and abs(by - 100 / 1004.5 * 100) < 0.001 and out["shift"]["p"] < 0.001
        assert out["reasons"][0] == {"op": "aten::mm", "delta_us": 50, "sure": True}
        case = xml.etree.ElementTree.fromstring(verb("gate", "--baseline", a, "--format", "junit", slower, status=1).stdout)
        assert case.get("failures") == "1" and "regression" in case.find("testcase/failure").get("message")
        assert verb("gate", "--baseline", a, "--format", "junit", a).stdout.count("<failure") == 0
        line = verb("gate", "--baseline", a, "--format", "github", slower, status=1).stdout
        assert line.startswith("::error title=proflaunch gate::regression: ") and "%25" in line
        assert verb("gate", "--baseline", a, "--format", "md", slower, status=1).stdout.startswith("**proflaunch gate**: regression")
        file = f"{top}/verdict.json"
        verb("gate", "--baseline", a, "--format", "json", "-o", file, slower, status=1)
        assert json.load(open(file, encoding="utf-8"))["verdict"] == "regression"


def test_hostile_names():
    nasty = 'a"<script>&\u202e\x1b[31m%'
    with prof.folder() as top:
        more = [{"ph": "X", "cat": "cpu_op", "name": nasty, "pid": 1, "tid": 2, "ts": 1001 + 1500 * i, "dur": 900 + i} for i in range(9)]
        a, b = trace(f"{top}/a.json", near(1000)), trace(f"{top}/b.json", near(1500), more)
        for words in (("diff", a, b), ("diff", "--format", "md", a, b), ("diff", "--format", "csv", a, b)):
            text = verb(*words).stdout
            assert "\x1b" not in text and "\u202e" not in text, text
        for form in ("text", "json", "junit", "github", "md"):
            text = verb("gate", "--baseline", a, "--format", form, b, status=1).stdout
            assert "\x1b" not in text and "\u202e" not in text, text
            verb("gate", "--baseline", a, "--format", form, "--metric", "ops/" + nasty, b, status=2)
        xml.etree.ElementTree.fromstring(
            verb("gate", "--baseline", a, "--format", "junit", "--metric", "ops/" + nasty.replace("\x1b", ""), b, status=2).stdout)


def test_wrong_options():
    with prof.folder() as top:
        a = trace(f"{top}/a.json", near(1000))
        empty = f"{top}/empty.json"
        with open(empty, "w", encoding="utf-8") as file:
            file.write('{"traceEvents": []}')
        for words, line in (
                (("diff",), "two runs are compared"),
                (("diff", a), "two runs are compared"),
                (("diff", a, a, a), "two runs are compared"),
                (("diff", a, f"{top}/none"), "No such file"),
                (("diff", a, empty), "it has nothing to compare"),
                (("diff", "--format", "text", a, a), "none of table, csv, json, md"),
                (("diff", "-o", a, a, a), "name another file"),
                (("gate", a), "no baseline"),
                (("gate", "--baseline", a), "no run"),
                (("gate", "--baseline", a, a, a), "one run at a time"),
                (("gate", "--baseline", a, "--max-regression", "0", a), "not a percentage above 0"),
                (("gate", "--baseline", a, "--max-regression", "3x", a), "not a percentage above 0"),
                (("gate", "--baseline", a, "--max-regression", "nan", a), "not a percentage above 0"),
                (("gate", "--baseline", a, "--metric", "speed", a), "none of step, gpu"),
                (("gate", "--baselin", a, a), "did you mean --baseline"),
                (("gate", "--baseline", empty, a), "cannot tell")):
            run = verb(*words, status=2)
            assert line in run.stderr + run.stdout, (words, run.stderr, run.stdout)
        for name in ("diff", "gate"):
            assert verb(name, "--help").stdout.startswith(f"usage: proflaunch {name} ")
            assert verb("help", name).stdout == verb(name, "--help").stdout


def test_windows_of_real_runs():
    """A program of twice the size, recorded: two windows of each run, found by directory."""
    with prof.folder() as top:
        for name, size in (("a", "256"), ("b", "768")):
            prof.launch([VENV, "-c", TORCH, size, "60"], f"{top}/{name}", schedule="wait=5,warmup=1,active=10,repeat=2")
        run = verb("diff", f"{top}/a", f"{top}/b")
        assert "2 windows of one process" in run.stderr, run.stderr
        assert "20 steps of 2 files" in run.stdout and "longer (+" in run.stdout, run.stdout
        assert "aten::addmm" in run.stdout, run.stdout
        verb("gate", "--baseline", f"{top}/a", f"{top}/b", status=1)
        verb("gate", "--baseline", f"{top}/b", f"{top}/a")


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
