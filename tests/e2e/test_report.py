#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""`proflaunch report`: every view and format of a real run, of torch's own file, and of what is no trace."""
import csv
import gzip
import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import time

import prof

VENV = os.path.join(prof.BUILD, "venv", "bin", "python")
VIEWS = ("overview", "ops", "kernels", "steps", "memory", "threads", "trace")
HOSTILE = "\033]0;title\007<script>alert(1)</script>|`\u202egnp\u009b2J\nend"

PROGRAM = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    model(torch.randn(32, 64)).sum().backward()
    optimizer.step()
"""

INSIDE = PROGRAM.replace("for _ in range(8):", """
import sys
from torch.profiler import ProfilerActivity, profile, schedule
p = profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=4, repeat=1),
            on_trace_ready=lambda p: p.export_chrome_trace(sys.argv[1]), record_shapes=True, profile_memory=True)
p.start()
for _ in range(8):""") + "    p.step()\np.stop()\n"


def report(*words, status=0, **env):
    run = prof.plain([prof.LAUNCHER, "report", *words], env={**os.environ, "LC_ALL": "C.UTF-8", **env})
    assert run.returncode == status, (words, run.returncode, run.stderr, run.stdout[:800])
    return run


def write(folder, name, events, **members):
    path = os.path.join(folder, name)
    with (gzip.open if name.endswith(".gz") else open)(path, "wt", encoding="utf-8") as file:
        json.dump({**members, "traceEvents": events}, file)
    return path


def event(cat, name, ts, dur, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}


def four_steps(name="aten::mm"):
    """Steps of 100 ms, half of them one operator."""
    return [e for i in range(4) for e in (event("user_annotation", f"ProfilerStep#{i + 3}", 1000 + i * 100000, 100000),
                                          event("cpu_op", name, 2000 + i * 100000, 50000))]


def on_gpu():
    """Four steps that launch a kernel each, of 60 ms."""
    events = four_steps()
    for i in range(4):
        at = 2000 + i * 100000
        events[2 * i + 1]["args"]["External id"] = i + 1
        events.append(event("cuda_runtime", "cudaLaunchKernel", at + 10, 10, **{"correlation": i + 1, "External id": i + 1}))
        events.append(event("kernel", "sgemm_128x64", at + 100, 60000, tid=7, **{
            "External id": i + 1, "correlation": i + 1, "device": 0, "stream": 7, "grid": [80, 1, 1], "block": [128, 1, 1],
            "registers per thread": 32, "shared memory": 0, "blocks per SM": 1.0, "est. achieved occupancy %": 50}))
    return events


GPU = {"deviceProperties": [{"id": 0, "name": "Tesla V100", "totalGlobalMem": 1 << 34, "computeMajor": 7,
                             "computeMinor": 0, "numSms": 80}]}


def recorded(log, **given):
    path = os.path.join(log, "program.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    return prof.launch([VENV, path], log, schedule="wait=1,warmup=1,active=4,repeat=1", **given)


def numbers_add_up(made):
    assert made["schema"] == 1 and made["steps"], made
    for step in made["steps"]:
        assert abs(sum(step["categories"].values()) - step["duration"]) < 0.002, step
    assert {"Kernel", "DataLoader", "CPU Exec", "Other"} <= set(step["categories"]), step
    for op in made["operators"]:
        assert op["self_cpu_time_total"] <= op["cpu_time_total"] and op["count"] > 0, op
        assert {"key", "self_device_time_total", "device_time_total", "input_shapes"} <= set(op), op
    for key in ("kernels", "devices", "advice", "silent", "threads", "memory", "recording", "process"):
        assert key in made, key


# ---- a run of ours ----

def test_every_view_in_every_format():
    with prof.folder() as log:
        run = recorded(log, record_shapes=True, profile_memory=True, python_stack="ops")
        path = run.only().path
        assert f"where the time went: proflaunch report {path}\n" in run.err, run.err
        numbers_add_up(json.loads(report("--format", "json", path).stdout))
        for view in VIEWS:
            if view == "kernels":
                assert "it has no GPU work there" in report("--view", view, path, status=2).stderr
                continue
            text = report("--view", view, path).stdout
            assert text and (view == "trace" or max(map(len, text.splitlines())) <= 80), text
            rows = list(csv.reader(io.StringIO(report("--view", view, "--format", "csv", path).stdout)))
            assert len(rows) > 1 and len({len(row) for row in rows}) == 1, rows
            md = report("--view", view, "--format", "md", path).stdout
            assert "| ---" in md and len(md.splitlines()) <= 60, md
            assert report("--view", view, "--format=json", path).stdout.startswith('{"schema": 1')
        rows = csv.DictReader(io.StringIO(report("--view", "ops", "--group-by", "shape", "--format", "csv", path).stdout))
        assert any(row["key"] == "aten::linear" and row["input_shapes"].startswith("[[32, 64]") for row in rows)
        steps = [row["step"] for row in csv.DictReader(io.StringIO(
            report("--view", "steps", "--steps", "3-4", "--format", "csv", path).stdout))]
        assert steps == ["3", "4"], steps
        sort = [int(row["count"]) for row in csv.DictReader(io.StringIO(
            report("--view", "ops", "--sort", "count", "--format", "csv", path).stdout))]
        assert sort == sorted(sort, reverse=True) and sort[0] > sort[-1], sort
        assert "Self CPU %" in report("--view", "ops", "--like-torch", path).stdout


def test_the_log_directory_is_looked_into():
    with prof.folder() as log:
        path = recorded(log).only().path
        want = report(path).stdout
        run = report(log)
        assert run.stdout == want and f"{path}: the only finished trace below {log}\n" in run.stderr, run.stderr
        assert report(PROF_LOGDIR=log).stdout == want
        os.mkdir(os.path.join(log, "empty"))
        here = prof.plain([prof.LAUNCHER, "report"], cwd=os.path.join(log, "empty"))
        assert here.returncode == 2 and "./log: No such file or directory; name a trace or a directory" in here.stderr, here
        assert "nothing to report" not in here.stderr


def test_torchs_own_file():
    with prof.folder() as log:
        program, path = os.path.join(log, "inside.py"), os.path.join(log, "torch.json")
        with open(program, "w", encoding="utf-8") as file:
            file.write(INSIDE)
        run = prof.plain([VENV, program, path])
        assert run.returncode == 0, run.stderr
        made = json.loads(report("--format", "json", path).stdout)
        numbers_add_up(made)
        assert len(made["steps"]) == 4 and made["process"]["written_by_proflaunch"] is False, made["process"]
        packed = path + ".gz"
        with open(path, "rb") as file, gzip.open(packed, "wb") as to:
            to.write(file.read())
        assert report("--view", "ops", path).stdout == report("--view", "ops", packed).stdout
        assert "not recorded: lines of Python (with_stack=True)" in report(path).stdout


# ---- a GPU ----

def test_a_gpu_is_in_the_head():
    with prof.folder() as log:
        path = write(log, "gpu.json", on_gpu(), **GPU)
        text = report(path).stdout
        assert re.search(r"Tesla V100 busy 6\d %, SM efficiency 6\d %, occupancy 50 %", text.replace("\n ", "")), text
        assert re.search(r"^  Kernel +60.0 ms +6\d %  █+$", text, re.M), text
        assert "Operators, GPU time of their own, per step" in text, text
        made = json.loads(report("--format", "json", path).stdout)
        kernel, = made["kernels"]
        assert kernel["name"] == "sgemm_128x64" and kernel["count"] == 4 and kernel["total"] == 240000, kernel
        assert made["devices"][0]["name"] == "Tesla V100" and made["devices"][0]["kernels"] == 4, made["devices"]
        assert "aten::mm" in report("--view", "kernels", path, COLUMNS="160").stdout


# ---- the terminal ----

def on_terminal(*words, rows=24, **env):
    """What a terminal of 100 columns gets, and the status."""
    pid, fd = pty.fork()
    if not pid:
        os.environ.update({"TERM": "xterm", "LC_ALL": "C.UTF-8", **env})
        subprocess.run(["stty", "rows", str(rows), "cols", "100"], check=False)
        os.execv(prof.LAUNCHER, [prof.LAUNCHER, "report", *words])
    got, until = b"", time.monotonic() + 60
    while time.monotonic() < until:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                part = os.read(fd, 65536)
            except OSError:
                break
            if not part:
                break
            got += part
    os.close(fd)
    return got.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_terminal_has_colour_and_a_pager():
    with prof.folder() as log:
        path = write(log, "t.json", four_steps())
        mark = "sed 's/^/paged: /'"
        text, status = on_terminal(path, rows=100, PAGER=mark)
        assert "\033[1m" in text and "paged: " not in text and status == 0, text
        assert max(len(re.sub(r"\033\[[\d;]*m", "", line)) for line in text.splitlines()) > 80, text
        assert text.replace("\r", "").count("\n") == on_terminal(path, rows=5, PAGER=mark)[0].count("paged: ")
        for pager in ("", "cat", "no-such-pager-here"):
            shown, status = on_terminal(path, rows=5, PAGER=pager)
            assert "aten::mm" in shown and "paged: " not in shown and status == 0, (pager, shown)
        assert "aten::mm" in on_terminal(path, rows=5, PAGER="head -n 2 > /dev/null; echo aten::mm")[0]
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            assert "\033" not in on_terminal(path, rows=100, **env)[0], env
        assert "\033" not in report(path).stdout


def test_without_utf8_it_is_ascii():
    with prof.folder() as log:
        path = write(log, "t.json", four_steps("aten::größer" + "x" * 100))
        for view in ("overview", "ops", "steps"):
            text = report("--view", view, path, LC_ALL="C").stdout
            assert text.isascii() and ("#" * 20 in text or view != "overview"), text
        assert "aten::größerx" in report(path).stdout
        assert "aten::gr" in report(path, LC_ALL="", LC_CTYPE="de_DE.utf8", LANG="C").stdout
        assert not report(path, LC_ALL="", LC_CTYPE="de_DE.utf8", LANG="C").stdout.isascii()


def test_the_width_is_within_bounds():
    with prof.folder() as log:
        path = write(log, "t.json", four_steps("n" * 500))
        for columns, widest in (("20", 80), ("80", 80), ("120", 120), ("999", 200), ("nonsense", 80)):
            text = report("--view", "ops", path, COLUMNS=columns).stdout
            assert max(map(len, text.splitlines())) <= widest and "n" * (widest // 8) in text, text


# ---- hostile, broken and empty ones ----

def test_no_name_reaches_the_terminal_as_it_is():
    with prof.folder() as log:
        path = write(log, "t.json", four_steps(HOSTILE) + on_gpu() + [
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "ts": 0, "args": {"name": HOSTILE}}],
            deviceProperties=[{**GPU["deviceProperties"][0], "name": HOSTILE}])
        for kind in ("table", "csv", "md", "json"):
            for view in VIEWS:
                if view == "memory" and kind != "json":
                    continue
                run = report("--view", view, "--format", kind, path)
                for bad in "\033\007\u202e\u009b\r":
                    assert bad not in run.stdout + run.stderr, (kind, view, bad)
        made = json.loads(report("--format", "json", path).stdout)
        assert HOSTILE in [op["key"] for op in made["operators"]]
        assert HOSTILE in [thread["name"] for thread in made["threads"]]


def test_what_cannot_be_reported():
    with prof.folder() as log:
        memory = write(log, "memory.json", [{"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 1,
                                             "args": {"Addr": 1, "Bytes": 5, "Device Type": 0, "Device Id": -1}}])
        empty = write(log, "empty.json", [])
        with open(os.path.join(log, "broken.json"), "w", encoding="utf-8") as file:
            file.write('{"traceEvents":[{"ph":')
        for path, say in ((memory, "proflaunch memory shows it"), (empty, "there is nothing to report"),
                          (file.name, "no trace file, or a broken one"), ("/nowhere", "/nowhere: No such file"),
                          (log, "no trace files (*.pt.trace.json) below it")):
            for kind in ("table", "json"):
                run = report("--format", kind, path, status=2)
                assert say in run.stderr and not run.stdout, run
        whole = write(log, "whole.json", [event("cpu_op", "a", 5, 10), event("cpu_op", "b", 20, 10)])
        assert "1 step of 25.0 us, the whole recording: none is marked" in report(whole).stdout
        numbers_add_up(json.loads(report("--format", "json", whole).stdout))


def test_options():
    with prof.folder() as log:
        path = write(log, "t.json", four_steps())
        for words, say in ((["--view", "opps", path], "--view opps: none of overview, ops, kernels"),
                           (["--format", "xml", path], "--format xml: none of table, csv, json, md"),
                           (["--group-by", "stack", path], "none of name, shape, stack:N"),
                           (["--group-by", "shape", path], "--group-by: is of operators"),
                           (["--steps", "5-3", path], "--steps 5-3: neither a step nor A-B"),
                           (["--steps", "9", path], "has no whole step 9: its steps are 3 to 6"),
                           (["--limit", "0", path], "--limit 0: not a number from 1 on"),
                           (["--rank", "x", path], "--rank x: not a number from 0 on"),
                           (["--rank", "0", path], "is one trace: --rank, --stage and --window choose below a directory"),
                           (["--sort", "count", path], "--sort: the overview has an order of its own"),
                           (["--view", "ops", "--sort", "no", path], "--sort no: the columns of ops are key, input_shapes"),
                           (["--format", "json", "--sort", "no", path], "--sort no: the columns of"),
                           (["--like-torch", path], "--like-torch: is of operators"),
                           (["--view", "ops", "--like-torch", "--format", "md", path], "--like-torch: is a table"),
                           (["--view", "ops", "--like-torch", "--sort", "no", path], "none of torch's keys"),
                           (["--explain", "nonsense"], "--explain nonsense: no such rule"),
                           (["--fromat", "md", path], "did you mean --format?"), ([path, path], "one trace or directory at a time"),
                           ([path, "-o"], "its value is missing"), ([path, "-o", path], "is one of the traces: name another file"),
                           ([path, "-o", "/nowhere/x"], "/nowhere/x: cannot be written")):
            run = report(*words, status=2)
            assert say in run.stderr and len(run.stderr.splitlines()) == 1 and not run.stdout, (words, run)
        assert report("--help").stdout == prof.plain([prof.LAUNCHER, "help", "report"]).stdout != ""
        assert "dataloader" in report("--explain", "all").stdout
        assert report("--explain", "dataloader").stdout
        out = os.path.join(log, "out.md")
        report("--format", "md", path, "-o", out)
        with open(out, encoding="utf-8") as file:
            assert file.read() == report("--format", "md", path).stdout
        run = report("--view", "ops", "--group-by", "shape", path)
        assert "it has no input shapes: record with proflaunch --record-shapes" in run.stderr and "aten::mm" in run.stdout


def test_a_reader_that_leaves_early_is_no_fault():
    with prof.folder() as log:
        path = write(log, "t.json", [event("cpu_op", f"operator {i}", 5 + 10 * i, 5) for i in range(20000)])
        run = prof.plain(["bash", "-c", f"set -o pipefail; {prof.LAUNCHER} report --view ops --format csv {path} | head -n 1"])
        assert run.returncode == 0 and run.stdout.startswith("key,") and not run.stderr, run
        full = prof.plain(["sh", "-c", f"{prof.LAUNCHER} report {path} > /dev/full"])
        assert full.returncode == 2 and "No space left" in full.stderr, full


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
