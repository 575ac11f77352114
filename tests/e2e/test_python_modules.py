#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""--with-modules: the modules of a file are those of torch.profiler in the same process, in their
order, with their numbers and what they are in; their paths are named_modules()'s; and nothing of ours is left."""
import collections
import csv
import json
import os
import re
import sys

import prof

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "progs", "python_modules.py")
OPEN = os.path.join(HERE, "progs", "python_open_modules.py")
MANY = os.path.join(HERE, "progs", "python_many_windows.py")
VENV = os.path.join(prof.BUILD, "venv", "bin", "python")
SYSTEM = "/usr/bin/python3"
PREFIX = "nn.Module: "
WINDOW = {"schedule": "wait=3,active=1,repeat=1", "modules": True}
# What is below a class with a __getattribute__ of its own, and what is in a list, is an outermost one.
OUTERMOST = {"Tanh", "Linear", "Star", "Sequential", "OptimizedModule"}


def each_torch(test):
    for python in (VENV, SYSTEM):
        if prof.plain([python, "-c", "import torch"]).returncode == 0:
            test(python)


def functions(events):
    """Python id -> event; ids are unique in the file."""
    found = [e for e in events if e.get("cat") == "python_function"]
    ids = {e["args"]["Python id"]: e for e in found}
    assert len(ids) == len(found)
    return ids


def modules(events):
    """By thread: each module's name, its number, and the name of the module around it."""
    ids = functions(events)
    rows = collections.defaultdict(list)
    for e in sorted(ids.values(), key=lambda e: (e["ts"], -e["dur"])):
        if not e["name"].startswith(PREFIX):
            continue
        around = e["args"]["Python parent id"]
        while around is not None and not ids[around]["name"].startswith(PREFIX):
            around = ids[around]["args"]["Python parent id"]
        rows[e["tid"]].append((e["name"], e["args"]["Python module id"],
                               None if around is None else ids[around]["name"]))
    return rows


def theirs(path):
    """torch writes names as they are, with the quotes that some have."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r'^( *"name": ")(.*)(",)$', lambda m: m[1] + m[2].replace('"', "'") + m[3], file.read(), flags=re.M)
    data = json.loads(text)
    return data if isinstance(data, list) else data["traceEvents"]


def test_the_same_as_torchs_profiler():
    def one(python):
        with prof.folder() as log:
            path = os.path.join(log, "torch.json")
            run = prof.launch([python, PROGRAM], log, env={"TRACE": path}, **WINDOW)
            trace, said = run.only(), json.loads(run.out.splitlines()[-1])
            want, have = modules(theirs(path)), modules(trace.slices)
            if python == VENV:      # torch 1.13 sees no function of Python 3.11
                assert have == want, [pair for tid in want for pair in zip(want[tid], have[tid]) if pair[0] != pair[1]]
            assert len(have) == 2 and sum(map(len, have.values())) > 800, {tid: len(have[tid]) for tid in have}
            before, within, after = said["pointers"]
            assert before == after and all(a != b for a, b in zip(before, within)), said
            assert said["child"] == 0, said
            assert trace.raw["with_modules"] == 1 and "with_stack" not in trace.raw
            counts = trace.facts["modules"]
            assert counts["calls"] == trace.facts["events"]["modules"] == sum(map(len, have.values())), counts
            assert counts["objects"] == len({name for rows in have.values() for name, *_ in rows}), counts
            assert not counts["calls without a path"] and not counts["called before the window"], counts
            assert trace.facts["cost"]["ns per module"] > 0, trace.facts["cost"]
            prof.strict(run.paths())
            assert "Python" not in run.err and "modules" not in run.err, run.err
    each_torch(one)


def test_paths():
    """named_modules() has each, and what a module calls has its path."""
    def one(python):
        bare = json.loads(prof.plain([python, PROGRAM]).stdout.splitlines()[-1])
        for stack in {}, {"python_stack": "ops"}:
            with prof.folder() as log:
                run = prof.launch([python, PROGRAM], log, **WINDOW, **stack)
                trace, said = run.only(), json.loads(run.out.splitlines()[-1])
                assert said["looked"] == bare["looked"], (said["looked"], bare["looked"])
                called = functions(trace.slices).values()
                paths = {e["args"]["Module path"] for e in called}
                # torch 1.13 on 3.11: super().__call__(x) may go past us.
                named = set(bare["named"]) - {"", "layers", "hides.below", "plain" if python == SYSTEM else ""}
                assert named <= paths, named - paths
                odd = {path for path in paths - named if not path.startswith("_orig_mod")} - {"Net", "0", "1"}
                assert odd <= OUTERMOST, odd
                assert operators(trace, called) > 1000
                assert ("Call stack" in trace.named("aten::linear")[-1]["args"]) == bool(stack)
                prof.strict(run.paths())
    each_torch(one)


def operators(trace, called):
    """Each has the path of the innermost module that it lies in."""
    checked = 0
    for tid in {e["tid"] for e in called}:
        mine = [e for e in trace.slices if e["tid"] == tid and e.get("cat") in ("cpu_op", "python_function")]
        around = []
        for e in sorted(mine, key=lambda e: (e["ts"], -e["dur"])):
            while around and around[-1]["ts"] + around[-1]["dur"] < e["ts"]:
                around.pop()
            if e["cat"] == "python_function":
                around.append(e)
                continue
            want = around[-1]["args"]["Module path"] if around else None
            if "Module path of" in e["args"]:
                assert not around and e["args"]["Module path"], e
                continue
            assert e["args"].get("Module path") == want, (e, want)
            checked += want is not None
    return checked


def test_a_window_begins_in_modules():
    """As where torch's own profiler begins there: the modules around are those of its file, from the
    begin on, with their paths; what is called behind them is not in them."""
    for way in "held", "free", "elsewhere":
        with prof.folder() as log:
            path = os.path.join(log, "torch.json")
            run = prof.launch([VENV, OPEN], log, env={"TRACE": path, "OPEN": way},
                              schedule="wait=2,active=1,repeat=1", modules=True)
            trace = run.only()
            want, have = modules(theirs(path)), modules(trace.slices)
            assert list(have.values()) == list(want.values()), (way, want, have)
            called = [e for e in functions(trace.slices).values() if e["args"].get("Called") == "before the window"]
            assert [(e["name"], e["args"]["Module path"]) for e in called] == [
                (PREFIX + "Net_0", "Net"), (PREFIX + "Sequential_0", "layers"), (PREFIX + "Sequential_1", "layers.1"),
                (PREFIX + "Star_0", "layers.1.0")], (way, called)
            begin, _ = trace.window()
            assert way == "elsewhere" or all(e["ts"] == called[0]["ts"] for e in called), called
            assert all(e["ts"] - begin < 1 for e in called), (begin, called)
            for e in called:
                inside = [o for o in trace.slices if o["tid"] == e["tid"] and o["cat"] == "cpu_op"
                          and e["ts"] <= o["ts"] < e["ts"] + e["dur"]]
                last = max(o["ts"] + o["dur"] for o in inside)
                assert last <= e["ts"] + e["dur"] <= last + 1000 and "finished" not in e["args"], (e, inside[-1])
            assert not any("Backward" in o["name"] for o in inside)
            counts = trace.facts["modules"]
            assert counts["called before the window"] == 4 and not counts["left out of those"], counts
            assert not counts["calls without a path"], counts
            assert not any("finished" in e["args"] for e in functions(trace.slices).values())
            operators(trace, functions(trace.slices).values())
            prof.strict(run.paths())
            assert "Python" not in run.err and "modules" not in run.err, run.err


def test_a_window_begins_and_ends_in_modules():
    with prof.folder() as log:
        trace = prof.launch([VENV, OPEN], log, env={"OPEN": "free"}, schedule="wait=2,active=1,repeat=1", modules=True).only()
        at = [PREFIX + name for name in ("Net_0", "Sequential_0", "Sequential_1", "Star_0")]
        called = sorted(functions(trace.slices).values(), key=lambda e: (e["ts"], -e["dur"]))
        assert [e["name"] for e in called if "Called" in e["args"]] == at, called
        assert [e["name"] for e in called if "finished" in e["args"]] == at, called
    # Where one window follows the other a call goes on in the next.
    with prof.folder() as log:
        code = ("import ctypes, torch\nfrom torch import nn\nstep = ctypes.CDLL(None).proflaunch_step\n"
                "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(4, 4)\n"
                "    def forward(self, x):\n        x = self.a(x)\n        step()\n        return self.a(x)\n"
                "net = Net()\nfor _ in range(5):\n    net(torch.ones(2, 4))\n")
        traces = prof.launch([VENV, "-c", code], log, schedule="skip_first=1,wait=0,active=1,repeat=5", modules=True).traces()
        assert len(traces) == 5
        for i, trace in enumerate(traces):
            rows = [(e["name"], "Called" in e["args"], "finished" in e["args"]) for e in trace.slices if e["name"].startswith(PREFIX)]
            first = [(PREFIX + "Net_0", True, False), (PREFIX + "Linear_0", False, False)]
            second = [(PREFIX + "Net_0", False, True), (PREFIX + "Linear_0", False, False)]
            # The last one ends with the process.
            assert rows == first + second * (i < 4), (i, rows)


def around(events):
    """Each slice of a thread with those that it lies in."""
    threads = collections.defaultdict(list)
    for event in events:
        if event.get("cat") in ("cpu_op", "python_function"):
            threads[event["tid"]].append(event)
    for rows in threads.values():
        inside = []
        for event in sorted(rows, key=lambda e: (e["ts"], -e["dur"])):
            while inside and inside[-1]["ts"] + inside[-1]["dur"] <= event["ts"]:
                inside.pop()
            yield event, list(inside)
            inside.append(event)


def test_windows_open_and_close_at_any_moment():
    """What was called before a window lies in nothing that was called in it; and a window may end while a large module
    is being read."""
    with prof.folder() as log:
        run = prof.launch([VENV, MANY], log, marker="time:5", schedule="wait=1,active=1", modules=True)
        assert run.out == "went on\n", (run.out, run.err)
        found = 0
        for trace in run.traces():
            for event, outside in around(trace.slices):
                if "Called" in event["args"]:
                    found += 1
                    assert all("Called" in e["args"] for e in outside), (event, outside)
        assert found > 100, found


def test_backward_operators_have_their_forward_operators_path():
    code = ("import torch\nfrom torch import nn\n"
            "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.a, self.b = nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 4))\n"
            "    def forward(self, x):\n        return torch.utils.checkpoint.checkpoint(self.b, self.a(x), use_reentrant=False).sigmoid()\n"
            "net = Net()\n"
            "for _ in range(3):\n    net(torch.ones(2, 4)).sum().backward()\n")
    with prof.folder() as log:
        run = prof.launch([VENV, "-c", "import torch.utils.checkpoint\n" + code], log, marker="none", modules=True)
        trace = run.only()
        got = {(e["name"], e["args"].get("Module path")) for e in trace.slices
               if "Backward" in e["name"] and e["args"].get("Module path of")}
        node = "autograd::engine::evaluate_function: "
        assert {("SigmoidBackward0", "Net"), (node + "SigmoidBackward0", "Net"), ("AddmmBackward0", "a"),
                (node + "AddmmBackward0", "a"), ("AddmmBackward0", "b.1"), ("ReluBackward0", "b.0")} <= got, got
        assert not any(name == "SumBackward0" for name, _ in got), got
        operators(trace, functions(trace.slices).values())
        # What is called again in the backward pass is in its own modules.
        again = [e for e in functions(trace.slices).values() if e["name"] == PREFIX + "ReLU_0"]
        assert len(again) == 6 and {e["args"]["Module path"] for e in again} == {"b.0"}, again
        prof.strict(run.paths())


def test_a_marker_at_the_same_function():
    """In 3.11 it is then of another type than all functions."""
    code = ("import torch\nnet, x = torch.nn.Sequential(torch.nn.ReLU()), torch.ones(2)\n"
            "for _ in range(12):\n    net(x)\n")
    with prof.folder() as log:
        run = prof.launch([VENV, "-c", code], log, marker="python:torch.nn.Module.__call__", modules=True,
                          schedule="wait=1,warmup=1,active=2,repeat=2")
        names = {e["name"] for trace in run.traces() for e in trace.slices if e["name"].startswith(PREFIX)}
        assert names == {PREFIX + "Sequential_0", PREFIX + "ReLU_0"}, names


def test_the_report_has_them():
    with prof.folder() as log:
        prof.launch([VENV, PROGRAM], log, **WINDOW).only()
        said = prof.plain([prof.LAUNCHER, "report", "--view", "modules", log]).stdout
        assert "Net_0" in said and "Sequential_2" in said, said
        said = prof.plain([prof.LAUNCHER, "report", "--view", "ops", "--group-by", "module", log]).stdout
        assert "layers.0.0" in said and "Linear_0  " not in said.split("Where")[1].replace("Module: Linear_0", ""), said
        rows = list(csv.DictReader(prof.plain([prof.LAUNCHER, "export", "--csv", "--view", "modules", log]).stdout.splitlines()))
        assert ("Net_0", "Net") in [(row["module"], row["path"]) for row in rows], rows
        rows = json.loads(prof.plain([prof.LAUNCHER, "report", "--format", "json", log]).stdout)["modules"]
        assert ("Linear_0", "layers.0.0") in [(row["module"], row["path"]) for row in rows], rows
        said = prof.plain([prof.LAUNCHER, "report", "--view", "python", log])
        assert "--with-stack" in said.stdout + said.stderr, said


PLUGIN = """
import json, sys
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.module_op import aggegate_module_view
with open(sys.argv[1], encoding="utf-8") as file:
    data = RunProfileData.from_json("worker", "1", json.load(file))
def rows(stats):
    return [[s.name, s.occurences, s.operators, rows(s.children)] for s in stats]
print(json.dumps(rows(aggegate_module_view(data.tid2tree, data.events))))
"""


def test_the_plugins_module_view_has_them():
    code = ("import torch\nfrom torch import nn\nnet = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU()))\n"
            "for _ in range(3):\n    net(torch.ones(2, 4)).sum().backward()\n")
    with prof.folder() as log:
        trace = prof.launch([VENV, "-c", code], log, marker="none", modules=True).only()
        said = prof.plain([VENV, "-c", PLUGIN, trace.path])
        assert said.returncode == 0, said.stderr
        assert json.loads(said.stdout) == [["Sequential_0", 3, 0, [
            ["Linear_0", 3, 3, []], ["Sequential_1", 3, 0, [["ReLU_0", 3, 3, []]]]]]], said.stdout


def test_the_ways_to_ask():
    code = "import torch; torch.nn.ReLU()(torch.ones(2))"
    ways = [(["--with-modules"], {}), (["--modules"], {}), (["--with-modules=on"], {}), (["--modules", "on"], {}),
            ([], {"PROF_WITH_MODULES": "1"}), ([], {"PROF_MODULES": "on"})]
    for words, env in ways:
        with prof.folder() as log:
            run = prof.plain([prof.LAUNCHER, "--logdir", log, "--marker", "none", *words, "--", VENV, "-c", code],
                             env={**os.environ, **env})
            assert run.returncode == 0, run.stderr
            trace = prof.Run(run, log).only()
            assert [e["name"] for e in functions(trace.slices).values()] == [PREFIX + "ReLU_0"], (words, env)
    for words, answer in ((["--with-modules=maybe"], "neither on nor off"), (["--with-modles"], "--with-modules?")):
        run = prof.plain([prof.LAUNCHER, *words, "--", "true"])
        assert run.returncode == 2 and answer in run.stderr, run.stderr
    with prof.folder() as log:
        trace = prof.launch([VENV, "-c", code], log, marker="none").only()
        assert not functions(trace.slices) and "with_modules" not in trace.raw and "modules" not in trace.facts


def test_another_tool_stands_in_front():
    code = ("import ctypes, torch\nfrom torch import nn\nf = nn.Module.__call__\n"
            "at = ctypes.c_void_p.from_address(id(f) + ctypes.c_long.from_address(id(type(f)) + 56).value)\n"
            "kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)\n"
            "below = kind(at.value)\ntheirs = kind(lambda *given: below(*given))\n"
            "step = ctypes.CDLL(None).proflaunch_step\n"
            "at.value = ctypes.cast(theirs, ctypes.c_void_p).value\nmine = at.value\n"
            "for _ in range(4):\n    step()\n    nn.ReLU()(torch.ones(2))\n"
            "print(at.value == mine)\n")
    with prof.folder() as log:
        run = prof.launch([VENV, "-c", code], log, schedule="wait=1,active=1", modules=True)
        assert run.out.splitlines()[-1] == "True" and run.status == 0, (run.out, run.err)
        assert "another tool stands in front of nn.Module.__call__" in run.err, run.err


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
