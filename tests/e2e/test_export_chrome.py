#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""proflaunch export --chrome: a cut has the numbers of its steps, and readers take it."""
import gzip
import json
import os
import sys

import prof

VENV = os.path.join(prof.BUILD, "venv", "bin", "python")
GOLDEN = os.path.join(prof.HERE, "..", "golden")

TRAIN = """
import sys, torch
from torch.profiler import profile, schedule, record_function, ProfilerActivity
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(32, 64)

def train(step):
    for _ in range(9):
        with record_function("forward"):
            loss = model(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step()

if len(sys.argv) > 1:
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=True,
                 schedule=schedule(wait=1, warmup=1, active=5, repeat=1),
                 on_trace_ready=lambda p: p.export_chrome_trace(sys.argv[1])) as p:
        train(p.step)
else:
    train(lambda: None)
"""

# The plugin's own loader, on the whole file and on the cut.
PLUGIN = """
import json, sys
from torch_tb_profiler.profiler.data import RunProfileData
def steps(path):
    with open(path, encoding="utf-8") as file:
        data = RunProfileData.from_json("worker", 0, json.load(file))
    data.process()
    return {name: list(cost.costs) for name, cost in zip(data.steps_names, data.steps_costs)}
whole, cut = steps(sys.argv[1]), steps(sys.argv[2])
print(json.dumps([whole, cut]))
"""


def export(*words, status=0):
    run = prof.plain([prof.LAUNCHER, "export", *words])
    assert run.returncode == status, (words, run.returncode, run.stderr, run.stdout[:500])
    return run


def report(*words):
    run = prof.plain([prof.LAUNCHER, "report", *words])
    assert run.returncode == 0, (words, run.stderr)
    return run.stdout


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def program(log):
    path = os.path.join(log, "program.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(TRAIN)
    return path


def numbers(path, *words):
    """What the report says of steps, but for what is of the whole recording."""
    said = json.loads(report("--format", "json", *words, path))
    return {key: said[key] for key in ("sentence", "steps_marked", "step_median", "step_mean", "step_deviation",
                                       "steps", "advice", "devices", "operators", "kernels", "threads")}


def same_numbers(whole, cut, steps):
    want, got = numbers(whole, "--steps", steps), numbers(cut)
    for key in want:
        assert got[key] == want[key], (key, got[key], want[key])
    assert len(want["steps"]) > 1, want["steps"]
    for view in ("ops", "kernels", "steps", "threads"):
        words = ["--view", view, "--format", "csv"]
        run = [prof.plain([prof.LAUNCHER, "report", *words, *more]) for more in (["--steps", steps, whole], [cut])]
        assert run[0].stdout == run[1].stdout, (view, run)


# ---- the numbers ----

def test_a_cut_of_torchs_file():
    with prof.folder() as log:
        whole, cut = os.path.join(log, "whole.json"), os.path.join(log, "cut.pt.trace.json")
        run = prof.plain([VENV, program(log), whole])
        assert run.returncode == 0, run.stderr
        export("--chrome", "--steps", "3-5", "-o", cut, whole)
        same_numbers(whole, cut, "3-5")
        before, after = load(whole), load(cut)
        assert {key for key in before if key != "traceEvents"} | {"proflaunch cut"} == \
            {key for key in after if key != "traceEvents"}, after.keys()
        assert all(after[key] == before[key] for key in before if key != "traceEvents")
        had = [json.dumps(e, sort_keys=True) for e in before["traceEvents"]]
        got = [json.dumps(e, sort_keys=True) for e in after["traceEvents"]]
        assert set(got) <= set(had) and len(got) < 0.8 * len(had), (len(got), len(had))
        arrows = [(e["id"], e["cat"]) for e in after["traceEvents"] if e["ph"] in "sf"]
        assert arrows and all(arrows.count(one) == 2 for one in arrows), arrows[:9]
        gain = prof.plain([VENV, "-c", PLUGIN, whole, cut])
        assert gain.returncode == 0, gain.stderr[-2000:]
        of_whole, of_cut = json.loads(gain.stdout)
        assert of_cut and all(of_whole[name] == costs for name, costs in of_cut.items()), (of_whole, of_cut)
        assert sorted(of_cut) == ["3", "4", "5"], of_cut


def test_a_cut_of_ours():
    with prof.folder() as log:
        whole = prof.launch([VENV, program(log)], log, record_shapes=True, profile_memory=True,
                            schedule="wait=1,warmup=1,active=5,repeat=1").only().path
        cut = os.path.join(log, "cut_1.1234567890123456789.pt.trace.json")
        export("--chrome", "--steps", "3-5", "-o", cut, whole)
        same_numbers(whole, cut, "3-5")
        prof.strict([cut])
        packed = os.path.join(log, "whole.json.gz")
        with open(whole, "rb") as source, gzip.open(packed, "wb") as file:
            file.write(source.read())
        run = export("--chrome", "--steps", "3-5", packed)
        with open(cut, encoding="utf-8") as file:
            assert run.stdout == file.read(), run.stderr
        again = export("--chrome", whole).stdout
        assert json.loads(again) == load(whole), "the whole file is the same"
        prof.strict([whole])


def test_a_cut_with_a_gpu():
    """Work that a step launched stays with it, wherever it lies."""
    path = os.path.join(GOLDEN, "one_of_each_gpu.kineto.json")
    run = export("--chrome", "--steps", "2", path)
    before, after = load(path)["traceEvents"], json.loads(run.stdout)["traceEvents"]
    calls = {e["args"]["correlation"] for e in after if e.get("cat") in ("cuda_runtime", "cuda_driver")}
    want = [e for e in before if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
            and e["args"].get("correlation") in calls]
    assert calls and want and all(e in after for e in want), (calls, want)
    for e in after:
        if e["ph"] in "sf":
            assert sum(o["ph"] in "sf" and (o["id"], o["cat"]) == (e["id"], e["cat"]) for o in after) >= 2, e
    with prof.folder() as log:
        cut = os.path.join(log, "cut.json")
        with open(cut, "w", encoding="utf-8") as file:
            file.write(run.stdout)
        want, got = numbers(path, "--steps", "2"), numbers(cut)
        assert want == got, (want, got)


# ---- threads, ranks, several ----

def trace(log, name, rank=None, pid=7, base=0, steps=2):
    """A small trace: a main thread that launches, another one, and a GPU."""
    def slice_(cat, what, tid, ts, dur, **args):
        return {"ph": "X", "cat": cat, "name": what, "pid": 0 if cat == "kernel" else pid, "tid": tid, "ts": ts,
                "dur": dur, "args": args}

    events = [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "python3"}},
              {"ph": "M", "name": "thread_name", "pid": pid, "tid": 7, "args": {"name": "thread 7 (main)"}}]
    for step in range(steps):
        at = 100 * step
        events += [slice_("user_annotation", f"ProfilerStep#{step}", 7, at, 100),
                   slice_("cpu_op", "aten::mm", 7, at + 10, 40, **{"External id": step + 1}),
                   slice_("cuda_runtime", "cudaLaunchKernel", 7, at + 20, 5, correlation=step + 1),
                   slice_("cpu_op", "aten::add", 8, at + 10, 40),
                   slice_("kernel", "gemm", 3, at + 30, 50, correlation=step + 1, **{"External id": step + 1})]
    members = {"schemaVersion": 1, "baseTimeNanoseconds": 1000000 + base}
    if rank is not None:
        members["distributedInfo"] = {"backend": "gloo", "rank": rank, "world_size": 2}
    path = os.path.join(log, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**members, "traceEvents": events}, file)
    return path


def test_threads_take_their_work_along():
    with prof.folder() as log:
        path = trace(log, "t.pt.trace.json")
        for words in (["--threads", "main"], ["--threads=7"], ["--threads", "9,7"], ["--threads", "7", "--threads", "main"]):
            run = export("--chrome", *words, path, status=2 if "9,7" in words else 0)
            if "9,7" in words:
                assert "has no thread 9: it has 7 (thread 7 (main)), 8, 3" in run.stderr, run.stderr
                continue
            names = [e["name"] for e in json.loads(run.stdout)["traceEvents"]]
            assert "aten::add" not in names and names.count("gemm") == names.count("aten::mm") == 2, names
        names = [e["name"] for e in json.loads(export("--chrome", "--threads", "8", path).stdout)["traceEvents"]]
        assert "gemm" not in names and "aten::mm" not in names and names.count("aten::add") == 2, names


def test_ranks_and_several_traces():
    with prof.folder() as log:
        trace(log, "a.pt.trace.json", rank=0)
        trace(log, "b.pt.trace.json", rank=1, base=500)
        one = json.loads(export("--chrome", "--rank", "1", log).stdout)
        assert one["distributedInfo"]["rank"] == 1 and len(one["traceEvents"]) == 12, one
        assert "there is no trace of rank 5" in export("--chrome", "--rank=5", log, status=2).stderr
        both = json.loads(export("--chrome", log).stdout)
        events = both["traceEvents"]
        assert both["distributedInfo"]["rank"] == 0 and len(events) == 24, both
        assert {e["pid"] for e in events} == {0, 7, 1000000000, 1000000007}, events
        assert {e["args"]["name"] for e in events if e["name"] == "process_name"} == \
            {"python3 (rank 0)", "python3 (rank 1)"}
        for key, cat in (("correlation", "cuda_runtime"), ("External id", "cpu_op")):
            ids = [e["args"][key] for e in events if e.get("cat") == cat and key in e["args"]]
            assert len(ids) == len(set(ids)) == 4, ids
        kernels = [e for e in events if e.get("cat") == "kernel"]
        assert all(any(o.get("cat") == "cuda_runtime" and o["args"]["correlation"] == k["args"]["correlation"] and
                       (o["pid"] == 7) == (k["pid"] == 0) for o in events) for k in kernels), kernels
        assert sorted(k["ts"] for k in kernels) == [30, 30.5, 130, 130.5], kernels


# ---- what is odd ----

def test_what_is_broken_is_mended():
    with prof.folder() as log:
        path = os.path.join(log, "odd.json")
        with open(path, "wb") as file:
            file.write(b'[{"ph":"X","cat":"cpu_op","name":"a\xff\x01</script>","pid":1,"tid":1,"ts":01.50,"dur":NaN,'
                       b'"args":{"x":Infinity}},{"ph":"X","cat":"cpu_op","name":"b')
        run = export("--chrome", path)
        got = json.loads(run.stdout)["traceEvents"]
        assert got == [{"ph": "X", "cat": "cpu_op", "name": "a\ufffd\x01</script>", "pid": 1, "tid": 1, "ts": 1.5,
                        "dur": None, "args": {"x": None}}], got
        assert "the file ends early at byte 142: what is whole before it is exported" in run.stderr and "\x01" not in run.stdout
        out = os.path.join(log, "out.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"traceEvents":[{"ph" "X"}]}')
        run = export("--chrome", "-o", out, path, status=2)
        assert "no colon after a key" in run.stderr and os.listdir(log) == ["odd.json"], run.stderr


def test_what_is_whole_before_damage_is_exported():
    """A cut file is no failure, plain or packed; of any other damage the status says that there may be more."""
    with prof.folder() as log:
        events = "".join(f'{{"ph":"X","cat":"cpu_op","name":"{i:x}{"ab" * (i % 7)}","pid":1,"tid":1,"ts":{i},"dur":1}},\n' for i in range(5000))
        whole = ('{"traceEvents":[' + events + '{"ph":"M","name":"end"}]}').encode()
        cut, packed, odd = (os.path.join(log, name) for name in ("cut.json", "cut.json.gz", "odd.json"))
        middle = whole.index(b'"ts":2500,')
        for path, what in ((cut, whole[:len(whole) // 2]), (packed, gzip.compress(whole)[:-2000]), (odd, whole[:middle] + b'"ts" 2' + whole[middle:])):
            with open(path, "wb") as file:
                file.write(what)
        for path, say, status in ((cut, "the file ends early at byte", 0), (packed, "the gzip data end early at byte", 0), (odd, "no colon after a key at byte", 2)):
            run = export("--chrome", path, status=status)
            assert say in run.stderr and "what is whole before it is exported" in run.stderr, run.stderr
            got = json.loads(run.stdout)["traceEvents"]
            assert 1000 < len(got) < 5000 and [e["ts"] for e in got] == list(range(len(got))), (path, len(got))
        out = os.path.join(log, "out.json")
        export("--chrome", "-o", out, odd, status=2)
        with open(out, encoding="utf-8") as file:
            assert json.load(file)["traceEvents"] == got


def test_the_times_begin_may_be_behind_the_events():
    with prof.folder() as log:
        paths = [trace(log, f"{i}.pt.trace.json", rank=i, base=700 * i) for i in (0, 1)]
        for path in paths:
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"schemaVersion": 1, "traceEvents": data["traceEvents"], "baseTimeNanoseconds": data["baseTimeNanoseconds"]}, file)
        both = json.loads(export("--chrome", *paths).stdout)
        assert both["baseTimeNanoseconds"] == 1000000
        assert sorted(e["ts"] for e in both["traceEvents"] if e.get("cat") == "kernel") == [30, 30.7, 130, 130.7], both
        # A pipe is read once: it lies where it is, and a line says so.
        run = prof.plain(["bash", "-c", '"$0" export --chrome "$1" <(cat "$2")', prof.LAUNCHER, *paths])
        assert run.returncode == 0 and run.stderr.count("it lies at its own times") == 1, run
        times = sorted(e["ts"] for e in json.loads(run.stdout)["traceEvents"] if e.get("cat") == "kernel")
        assert times == [30, 30, 130, 130], times
        assert "save it as a file first" in run.stderr, run.stderr
        run = prof.plain(["bash", "-c", '"$0" export --chrome --steps 0 <(cat "$1")', prof.LAUNCHER, *paths])
        assert run.returncode == 2 and "three times: save it as a file first" in run.stderr and not run.stdout, run


def test_ids_of_any_size():
    with prof.folder() as log:
        path = os.path.join(log, "t.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write('[{"ph":"X","name":"a","args":{"correlation":9223372036854775807}},{"ph":"X","name":"b","args":{"correlation":7}}]')
        both = json.loads(export("--chrome", path, path).stdout)["traceEvents"]
        assert [e["args"]["correlation"] for e in both] == [2**63 - 1, 7, 2**63 - 1, 14], both


def test_options():
    with prof.folder() as log:
        path = trace(log, "t.json")
        for words, say in ((["--chrome", "--steps", "8"], "none of these steps whole: its steps are 0 to 1"),
                           (["--chrome", "--steps", "x"], "--steps x: neither a step nor A-B"),
                           (["--folded", "--steps", "1"], "--steps: is of --chrome, --csv and --md"),
                           (["--events", "--threads", "1"], "--threads: is of --chrome"),
                           (["--chrome", "--threads", "1,,2"], "a name is empty"),
                           (["--chrome", "--by", "cuda"], "--by: is of stacks"),
                           (["--chrome", "--view", "ops"], "--view: is of tables"),
                           (["--chrome", "--rank", "-1"], "not a number from 0 on")):
            assert say in export(*words, path, status=2).stderr, words


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
