#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""--with-modules: the modules of a file are those of torch.profiler in the same process, in their
order, with their numbers and what they are in; their paths are named_modules()'s; and nothing of ours is left."""
import collections
import json
import os
import re
import sys

import prof

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "progs", "python_modules.py")
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
                operators(trace, called)
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
            assert e["args"].get("Module path") == want, (e, want)
            checked += want is not None
    assert checked > 1000, checked


def test_open_modules():
    """A window that opens in a module has none of those around it, and says so; one that ends in a
    module has it up to there."""
    code = ("import ctypes, torch\nfrom torch import nn\n"
            "step = ctypes.CDLL(None).proflaunch_step\n"
            "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.first, self.second = nn.Linear(4, 4), nn.ReLU()\n"
            "    def forward(self, x):\n        x = self.first(x)\n        step()\n        return self.second(x)\n"
            "net, x = Net(), torch.ones(2, 4)\n"
            "for _ in range(4):\n    net(x)\n")
    with prof.folder() as log:
        path = os.path.join(log, "open.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(code)
        trace = prof.launch([VENV, path], log, schedule="wait=2,active=1,repeat=1", modules=True).only()
        rows = [(e["name"], e["args"].get("finished")) for e in functions(trace.slices).values()]
        assert rows == [(PREFIX + "ReLU_0", None), (PREFIX + "Net_0", "false"), (PREFIX + "Linear_0", None)], rows
        assert trace.facts["modules"]["called before the window"] == 1, trace.facts["modules"]


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
        assert "Linear_0" in said, said
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
