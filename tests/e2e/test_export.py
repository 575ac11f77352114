#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""`proflaunch export`: torch's own export_stacks, sums that are known otherwise, and what cannot be had."""
import collections
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys

import prof

VENV = os.path.join(prof.BUILD, "venv", "bin", "python")

MODEL = """
import threading, torch
from torch.profiler import record_function
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
kept = []

def work(x):
    with record_function("mine"):
        loss = model(x).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    kept.append(torch.ones(1000))

x = torch.randn(32, 64)
"""

# What torch says itself; its numbers, too, as they are before int() makes whole ones of binary fractions.
INSIDE = MODEL + """
import json, sys
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g.mul(2)

def busy():
    for _ in range(5):
        torch.mm(torch.ones(100, 100), torch.ones(100, 100))

work(x)
with profile(activities=[ProfilerActivity.CPU], with_stack=True, profile_memory=True,
             experimental_config=_ExperimentalConfig(verbose=True)) as p:
    for _ in range(3):
        work(x)
    Twice.apply(x.requires_grad_()).sum().backward()
    other = threading.Thread(target=busy)
    other.start()
    other.join()
p.export_chrome_trace(sys.argv[1])
p.export_stacks(sys.argv[2])
with open(sys.argv[3], "w") as out:
    json.dump([[";".join(f.translate(str.maketrans(" ;\\t\\n", "____")) for f in reversed(e.stack)),
                round(e.self_cpu_time_total, 3)] for e in p.events() if e.stack], out)
"""


def export(*words, status=0):
    run = prof.plain([prof.LAUNCHER, "export", *words])
    assert run.returncode == status, (words, run.returncode, run.stderr, run.stdout[:500])
    return run


def lines(text):
    """A folded text's stacks with their values."""
    rows = [line.rpartition(" ") for line in text.splitlines()]
    return {stack: int(value) for stack, _, value in rows}


def recorded(log, code=MODEL, **given):
    path = os.path.join(log, "program.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(code + "for _ in range(8):\n    work(x)\n")
    return prof.launch([VENV, path], log, python_stack="ops", record_shapes=True, profile_memory=True,
                       schedule="wait=1,warmup=1,active=3,repeat=1", **given).only()


def self_times(trace):
    """Each slice's own time, as the file has it: what lies in it on its thread is taken off."""
    own, threads = [], collections.defaultdict(list)
    for e in trace.slices:
        if e["cat"] in ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver"):
            threads[e["tid"]].append((round(e["ts"] * 1000), round(e["dur"] * 1000), e))
    for rows in threads.values():
        rows.sort(key=lambda row: (row[0], -row[1]))
        around = []
        for begin, length, e in rows:
            while around and around[-1][0] <= begin:
                around.pop()
            if around:
                around[-1][1][0] -= length
            mine = [length, e]
            own.append(mine)
            around.append((begin + length, mine))
    return own


# ---- torch's own ----

def same_lines(want, numbers, got):
    """torch subtracts binary fractions: of a whole number of microseconds it may make one less."""
    exact = collections.Counter(f"{stack} {int(value)}" for stack, value in numbers if int(value) > 0)
    assert exact == collections.Counter(got), (list((exact - collections.Counter(got)).items())[:5],
                                               list((collections.Counter(got) - exact).items())[:5])
    differ = sum((collections.Counter(want) - exact).values())
    whole = sum(value == int(value) for _, value in numbers)
    assert differ <= whole, (differ, whole)


def test_stacks_are_torchs_own():
    """With its stacks in the file (verbose), and out of its functions of Python, which it writes in any case."""
    with prof.folder() as log:
        paths = [os.path.join(log, name) for name in ("inside.py", "t.json", "t.stacks", "t.numbers")]
        with open(paths[0], "w", encoding="utf-8") as file:
            file.write(INSIDE)
        run = prof.plain([VENV, *paths])
        assert run.returncode == 0, run.stderr
        with open(paths[2], encoding="utf-8") as file:
            want = file.read().splitlines()
        with open(paths[3], encoding="utf-8") as file:
            numbers = json.load(file)
        assert len(want) > 100 and any("inside.py" in line and "linear" in line for line in want), want[:9]
        same_lines(want, numbers, export("--stacks", paths[1]).stdout.splitlines())
        with open(paths[1], encoding="utf-8") as file:
            raw = json.load(file)
        for e in raw["traceEvents"]:
            e.get("args", {}).pop("Call stack", None)
        bare = os.path.join(log, "bare.json.gz")
        with gzip.open(bare, "wt") as file:
            json.dump(raw, file)
        same_lines(want, numbers, export("--stacks", bare).stdout.splitlines())
        assert export("--folded", bare).stdout == export("--folded", paths[1]).stdout


# ---- a file of ours ----

def test_folded_stacks_are_all_self_times():
    with prof.folder() as log:
        trace = recorded(log)
        run = export("--folded", trace.path)
        found = lines(run.stdout)
        assert list(found) == sorted(found, key=lambda stack: stack.encode()) and not run.stderr, run
        own = self_times(trace)
        assert sum(found.values()) == sum(length for length, _ in own) // 1000, (sum(found.values()), len(own))
        by_leaf, want = collections.Counter(), collections.Counter()
        for stack, value in found.items():
            by_leaf[stack.rpartition(";")[2]] += value
        for length, e in own:
            want["ProfilerStep*" if e["name"].startswith("ProfilerStep#") else e["name"]] += length / 1000
        assert max(abs(by_leaf[name] - want[name]) for name in want) < 20, (by_leaf, want)
        forward = [s for s in found if "program.py(10): work;" in s and s.endswith("aten::linear;aten::addmm")]
        assert forward and all(s.startswith("program.py(") and ";ProfilerStep*;mine;" in s for s in forward), list(found)[:9]
        backward = [s for s in found if ";(backward);" in s and s.endswith("AddmmBackward0;aten::mm")]
        assert backward and all("program.py(10): work;" in s for s in backward), list(found)[:9]
        steps = [s for s in found if s == "ProfilerStep*"]
        assert steps, list(found)[:9]          # no line of Python, and not dropped


def test_stacks_of_a_file_of_ours():
    with prof.folder() as log:
        trace = recorded(log)
        rows = export("--stacks", trace.path).stdout.splitlines()
        want = sum(e["name"] == "aten::addmm" and length >= 1000 for length, e in self_times(trace))
        inner = [r for r in rows if r.startswith("program.py(") and "torch/nn/modules/linear.py(" in r]
        assert len(inner) >= want > 3, (want, rows[:9])     # aten::addmm has the stack of aten::linear around it
        assert not any("(backward)" in r or "ProfilerStep" in r or "_make_grads" in r for r in rows), rows


def test_speedscope_is_valid():
    with prof.folder() as log:
        trace = recorded(log)
        sums = {by: sum(lines(export("--folded", "--by", by, trace.path).stdout).values())
                for by in ("cpu", "allocated", "live")}
        for by, total in sums.items():
            path = os.path.join(log, "out.json")
            export("--speedscope", f"--by={by}", "-o", path, trace.path, trace.path)
            with open(path, encoding="utf-8") as file:
                made = json.load(file)
            assert made["$schema"] == "https://www.speedscope.app/file-format-schema.json"
            frames = made["shared"]["frames"]
            assert all(isinstance(f["name"], str) and isinstance(f.get("file", ""), str) and
                       isinstance(f.get("line", 1), int) and set(f) <= {"name", "file", "line"} for f in frames)
            assert any(f["name"] == "work" and f["file"] == "program.py" and f["line"] == 10 for f in frames), frames
            assert len(made["profiles"]) == 2
            for p in made["profiles"]:
                assert p["type"] == "sampled" and p["name"].startswith("python") and "program.py" in p["name"], p["name"]
                assert p["unit"] == ("microseconds" if by == "cpu" else "bytes"), p["unit"]
                assert len(p["samples"]) == len(p["weights"]) > 2 and min(p["weights"]) > 0
                assert all(isinstance(i, int) and 0 <= i < len(frames) for s in p["samples"] for i in s)
                assert p["startValue"] == 0 and abs(p["endValue"] - sum(p["weights"])) < 0.01, p["endValue"]
                assert abs(sum(p["weights"]) - total) < 1, (sum(p["weights"]), total)


def test_bytes_are_those_of_memory():
    with prof.folder() as log:
        trace = recorded(log, malloc="all")
        said = json.loads(prof.plain([prof.LAUNCHER, "memory", "--json", trace.path]).stdout)
        for by, key in (("allocated", "bytes"), ("live", "end")):
            found = lines(export("--folded", "--by", by, trace.path).stdout)
            sums = collections.Counter()
            for stack, value in found.items():
                sums[stack.rpartition(";")[2]] += value
            want = {f"[{s['space']}]": s[key] for s in said["spaces"]}
            assert sums == want and len(sums) == 2, (sums, want)
        kept = {s: n for s, n in found.items() if "program.py(14): work;" in s and s.endswith("[cpu]")}
        assert sum(kept.values()) == 3 * 4000, kept
        assert any(s.endswith(";[heap]") and s.count(";") > 5 for s in found), list(found)[:3]
        moved = [e["args"]["Bytes"] for e in trace.raw["traceEvents"] if e["name"] == "[memory]"]
        by_space = {s["space"]: s["bytes"] for s in said["spaces"]}
        assert sum(n for n in moved if n > 0) == by_space["cpu"], by_space


def test_kernels_are_below_who_launched_them():
    path = os.path.join(prof.HERE, "..", "golden", "one_of_each_gpu.kineto.json")
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    device = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    found = lines(export("--folded", "--by=cuda", path).stdout)
    assert len(device) > 5 and sum(found.values()) == int(sum(e["dur"] for e in device)), (found, device)
    assert found["ProfilerStep*;forward;aten::mm;sgem(float const*, float const*, float*)"] == 10, found
    made = json.loads(export("--speedscope", "--by=cuda", path).stdout)
    stacks = [[made["shared"]["frames"][i]["name"] for i in s] for s in made["profiles"][0]["samples"]]
    assert ["stray"] in stacks, stacks                      # nobody launched it


# ---- what cannot be had ----

def test_what_is_missing_is_said():
    with prof.folder() as log:
        path = os.path.join(log, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(MODEL + "for _ in range(8):\n    work(x)\n")
        trace = prof.launch([VENV, path], log, schedule="wait=1,warmup=1,active=3,repeat=1").only().path
        for words, status, say in (
                (["--stacks"], 2, "record with proflaunch --with-stack"),
                (["--folded"], 0, "there are operators alone: record with proflaunch --with-stack"),
                (["--folded", "--by", "cuda"], 2, "it has no GPU part"),
                (["--speedscope", "--by", "live"], 2, "record with proflaunch --profile-memory on")):
            run = export(*words, trace, status=status)
            assert say in run.stderr and run.stderr.count("\n") == 1, (words, run.stderr)
            assert bool(run.stdout) == (status == 0), (words, run.stdout[:200])


def test_output_is_whole_or_not_there():
    with prof.folder() as log:
        good, bad, link = (os.path.join(log, name) for name in ("good.json", "bad.json", "link"))
        with open(good, "w", encoding="utf-8") as file:
            file.write('{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":5}]}')
        with open(bad, "w", encoding="utf-8") as file:
            file.write('{"traceEvents":[{"ph":"X","cat":"cpu_op"')
        os.symlink(good, link)
        out = os.path.join(log, "out")
        export("--folded", good, "-o", out)
        with open(out, encoding="utf-8") as file:
            assert file.read() == "a 5\n"
        assert "no trace file, or a broken one" in export("--folded", "-o", out, bad, status=2).stderr
        run = export("--folded", "-o", out, bad, good, good, status=2)     # what could be read is there
        with open(out, encoding="utf-8") as file:
            assert file.read() == "a 10\n", run.stderr
        for path, say in ((link, "is a link, which is not followed"), (log, "is no file"),
                          (good, "is one of the traces: name another file"),
                          (os.path.join(log, "gone", "x"), "cannot be written: No such file")):
            assert say in export("--folded", good, f"--output={path}", status=2).stderr
        with open(good, encoding="utf-8") as file:
            assert file.read().startswith("{"), "the link was followed"
        assert sorted(os.listdir(log)) == ["bad.json", "good.json", "link", "out"], os.listdir(log)
        full = prof.plain(["sh", "-c", f"{prof.LAUNCHER} export --folded {good} > /dev/full"])
        assert full.returncode == 2 and "No space left" in full.stderr, full


def test_a_trace_is_no_target():
    """A FILE that was forgotten makes the trace behind it the target: it stays what it is."""
    with prof.folder() as log:
        text = '{"schemaVersion": 1, "traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":5}]}'
        plain, named, packed, bare, other, made = (os.path.join(log, name) for name in (
            "plain.json", "named.pt.trace.json", "packed.json.gz", "bare.json", "other.json", "made.json"))
        for path, what in ((plain, text), (named, "{"), (bare, '\n[{"ph":"X"}]'), (other, '{"ph": "X", "a": []}')):
            with open(path, "w", encoding="utf-8") as file:
                file.write(what)
        with gzip.open(packed, "wt") as file:
            file.write(text)
        trace = os.path.join(log, "trace")
        shutil.copy(plain, trace)
        beside = shutil.copy(plain, trace + "2")
        for words in (("report", trace, "--html"), ("report", trace, "-o"), ("diff", trace, trace, "--html"), ("diff", trace, trace, "-o"),
                      ("export", "--csv", trace, "-o"), ("export", "--folded", trace, "-o"), ("export", "--sqlite", trace, "-o"),
                      ("ranks", trace, beside, "-o"), ("gate", "--baseline", trace, trace, "-o")):
            for path in (plain, named, packed, bare):
                with open(path, "rb") as file:
                    before = file.read()
                run = prof.plain([prof.LAUNCHER, *words, path])
                with open(path, "rb") as file:
                    assert file.read() == before, (words, path)
                assert run.returncode == 2 and "is a trace, which would be lost" in run.stderr, (words, path, run.stderr)
        export("--csv", trace, "-o", other)                    # it only looks like one
        export("--chrome", trace, "-o", made)
        for path in (made, named, packed):
            assert "would be lost" in export("--chrome", trace, "-o", path, status=2).stderr
        held = os.path.join(log, "held.json")
        with open(held, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": [{"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "args": {
                "Device Type": 0, "Device Id": -1, "Addr": 8, "Bytes": size, "Total Allocated": 64}} for ts, size in ((1, 64), (2, -64))]}, file)
        for path, say in ((plain, "would be lost"), (named, "would be lost"), (packed, "would be lost"), (held, "is one of the traces")):
            with open(path, "rb") as file:
                before = file.read()
            run = prof.plain([prof.LAUNCHER, "memory", "--timeline", path, held])
            with open(path, "rb") as file:
                assert file.read() == before and run.returncode == 2 and say in run.stderr, (path, run)
        for _ in range(2):                                     # its own file may be made anew
            os.chmod(held, 0o600)
            line = os.path.join(log, "line.json")
            run = prof.plain([prof.LAUNCHER, "memory", "--timeline", line, held])
            assert run.returncode == 0 and os.stat(line).st_mode & 0o777 == 0o600, run.stderr
        far = {"otherData": "x" * 10000, "traceEvents": []}
        for what in (json.dumps(far), '[{"args": "' + "x" * 10000 + '", "ph": "X"}]'):
            with open(made, "w", encoding="utf-8") as file:
                file.write(what)
            assert "would be lost" in export("--csv", trace, "-o", made, status=2).stderr


def test_a_private_trace_stays_private():
    before = os.umask(0o022)
    with prof.folder() as log:
        one, other = (os.path.join(log, name) for name in ("one.json", "other.json"))
        for path, mode in ((one, 0o600), (other, 0o644)):
            with open(path, "w", encoding="utf-8") as file:
                file.write('{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":5}]}')
            os.chmod(path, mode)
        for words, mode in (((other,), 0o644), ((one,), 0o600), ((other, one), 0o600)):
            for verb in ("export", "--folded"), ("export", "--sqlite"), ("export", "--csv"), ("report",), ("report", "--html"), ("diff", "--html"), ("diff",), ("ranks",), ("gate",):
                if len(words) > 1 and verb[0] == "report" or len(words) < 2 and verb[0] == "ranks":
                    continue
                out = os.path.join(log, "out")
                places = {"diff": (words[0], words[-1]), "gate": ("--baseline", words[0], words[-1])}.get(verb[0], words)
                target = ("--html", out) if verb[-1] == "--html" else ("-o", out)
                run = prof.plain([prof.LAUNCHER, verb[0], *verb[1:-1 if verb[-1] == "--html" else None], *target, *places])
                assert run.returncode == 0 or verb[0] == "gate", (verb, words, run.stderr)
                assert os.stat(out).st_mode & 0o777 == mode, (verb, words, oct(os.stat(out).st_mode))
                os.unlink(out)
    os.umask(before)


def test_a_signal_leaves_no_part():
    """The trace is a pipe that gives no more: the export waits in the middle of its file."""
    with prof.folder() as log:
        out, fifo = os.path.join(log, "out"), os.path.join(log, "fifo")
        os.mkfifo(fifo)
        for sig in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            run = subprocess.Popen([prof.LAUNCHER, "export", "--chrome", "-o", out, fifo])
            with open(fifo, "w", encoding="utf-8") as file:
                file.write('{"traceEvents":[{"ph":"X","cat":"cpu_op"')
                file.flush()
                assert any(name.endswith(".part") for name in os.listdir(log)), os.listdir(log)     # it is there before the trace is opened
                run.send_signal(sig)
                assert run.wait(60) == -sig
            assert os.listdir(log) == ["fifo"], os.listdir(log)


def test_options():
    for words, say in (([], "no format: --chrome, --sqlite, --events, --csv, --md, --stacks, --folded, --speedscope or --pstats"),
                       (["--folded"], "no trace"), (["--folded", "--stacks", "x"], "only one of"),
                       (["--stacks", "--by", "live", "x"], "--stacks has times only"),
                       (["--folded", "--by", "gpu", "x"], "--by gpu: none of cpu, cuda, allocated, live"),
                       (["--foldet", "x"], "did you mean --folded?"), (["--folded", "x", "-o"], "its value is missing"),
                       (["--folded", "/nowhere"], "/nowhere: No such file"),
                       (["--folded", "/proc/self/task"], "no trace files")):
        assert say in export(*words, status=2).stderr, words
    assert export("--help").stdout == prof.plain([prof.LAUNCHER, "help", "export"]).stdout != ""


def test_a_directory_is_all_its_traces():
    with prof.folder() as log:
        os.mkdir(os.path.join(log, "children"))
        for name in ("a.pt.trace.json", "children/b.pt.trace.json"):
            with open(os.path.join(log, name), "w", encoding="utf-8") as file:
                file.write('[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":5}]')
        assert export("--folded", log).stdout == "a 10\n"
        assert len(json.loads(export("--speedscope", log).stdout)["profiles"]) == 2


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
