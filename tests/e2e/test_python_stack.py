#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""--with-stack: the line of Python that called an operator is the one that the interpreter says."""
import json
import os
import signal
import sys

import prof

HERE = os.path.dirname(os.path.abspath(__file__))
LINES = os.path.join(HERE, "progs", "python_lines.py")
VENV = os.path.join(prof.BUILD, "venv", "bin", "python")
SYSTEM = "/usr/bin/python3"


def shown(rows, folders):
    """A stack as the trace has it."""
    texts = []
    for path, line, name in rows:
        for folder in sorted(folders, reverse=True):
            if path.startswith(folder + os.sep):
                path = path[len(folder) + 1:]
                break
        texts.append(f"{path}({line}): {name}")
    return ";".join(texts)


def by_size(trace):
    """The operators aten::sgn that Python called, by the size of their tensor."""
    return {e["args"]["Input Dims"][0][0]: e["args"].get("Call stack", "")
            for e in trace.named("aten::sgn")}


def compare(trace, answers):
    with open(answers, encoding="utf-8") as file:
        said = json.load(file)
    found = by_size(trace)
    assert len(found) == len(said["stacks"]) > 170, (len(found), len(said["stacks"]))
    for size, rows in said["stacks"].items():
        want, have = shown(rows[:128], said["path"]), found[int(size)]
        # Threads go through the same code: 128 frames are as many as the option asks for.
        assert have == want, f"size {size}\n{have}\n{want}"


def record(log, python, **given):
    answers = os.path.join(log, "answers")
    run = prof.launch([python, LINES, answers], log, marker="none", record_shapes=True, **given)
    return run, answers


def each_torch(test):
    for python in (VENV, SYSTEM):
        if prof.plain([python, "-c", "import torch"]).returncode == 0:
            test(python)


def test_each_line_is_the_interpreters():
    def one(python):
        with prof.folder() as log:
            run, answers = record(log, python, python_stack="ops")
            trace = run.only()
            compare(trace, answers)
            counts = trace.facts["python stacks"]
            assert counts["disagreed"] == counts["unknown"] == 0, counts
            assert trace.raw["with_stack"] == 1
            prof.strict(run.paths())
            assert "Python" not in run.err, run.err
    each_torch(one)


def test_what_is_inside_of_an_operator_shares_its_stack():
    code = "import torch\nx = torch.nn.Linear(4, 4)\nx(torch.ones(2, 4))\n"
    with prof.folder() as log:
        path = os.path.join(log, "inner.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(code)
        trace = prof.launch([VENV, path], log, marker="none", python_stack="ops").only()
        outer, inner = trace.named("aten::linear")[-1], trace.named("aten::addmm")[-1]
        assert outer["args"]["Call stack"].endswith(";inner.py(3): <module>"), outer
        assert outer["args"]["Call stack"].startswith("torch/nn/modules/linear.py("), outer
        assert "Call stack" not in inner["args"], inner


def test_off_is_off():
    with prof.folder() as log:
        run, _ = record(log, VENV)
        trace = run.only()
        assert not any("Call stack" in e.get("args", {}) for e in trace.slices)
        assert "with_stack" not in trace.raw and "python stacks" not in trace.facts


def test_the_ways_to_ask():
    code = "import torch; torch.ones(2).add(1)"
    ways = [(["--with-stack"], {}), (["--with-stack=ops"], {}), (["--python-stack", "ops"], {}),
            (["--python-stack=on"], {}), ([], {"PROF_WITH_STACK": "1"}), ([], {"PROF_PYTHON_STACK": "ops"})]
    for words, env in ways:
        with prof.folder() as log:
            run = prof.plain([prof.LAUNCHER, "--logdir", log, "--marker", "none", *words, "--", VENV, "-c", code],
                             env={**os.environ, **env})
            assert run.returncode == 0, run.stderr
            trace = prof.Run(run, log).only()
            assert trace.named("aten::add")[-1]["args"]["Call stack"] == "<string>(1): <module>", (words, env)
    for words, answer in ((["--with-stack=all"], "none of off|ops|full"), (["--with-stack", "off"], "--with-stack=off"),
                          (["--with_stack", "off"], "--with_stack=off"), (["--with-stak"], "--with-stack?"),
                          (["--python-stack", "maybe"], "none of off|ops|full")):
        run = prof.plain([prof.LAUNCHER, *words, "--", "true"])
        assert run.returncode == 2 and answer in run.stderr, run.stderr


def test_a_killed_program_by_recover():
    code = ("import torch, os\ndef f():\n    torch.ones(3).add(1)\nfor _ in range(5):\n    f()\n"
            "os.kill(os.getpid(), 9)\n")
    with prof.folder() as log:
        path = os.path.join(log, "killed.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(code)
        run = prof.launch([VENV, path], log, marker="none", python_stack="ops", check=False)
        assert run.status == -signal.SIGKILL, run.err
        adds = run.only().named("aten::add")
        assert len(adds) == 5 and all(
            e["args"]["Call stack"] == "killed.py(3): f;killed.py(5): <module>" for e in adds), adds


def test_plain_preload_and_children():
    code = ("import torch, os\ntorch.ones(3).add(1)\npid = os.fork()\nif not pid:\n"
            "    torch.ones(4).mul(2)\nelse:\n    os.waitpid(pid, 0)\n")
    for plain in (True, False):
        with prof.folder() as log:
            path = os.path.join(log, "forks.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(code)
            if plain:
                env = {**os.environ, "LD_PRELOAD": prof.AGENT, "PROF_LOGDIR": log, "PROF_MARKER": "none",
                       "PROF_PYTHON_STACK": "ops", "PROF_CHILDREN": "each"}
                run = prof.Run(prof.plain([VENV, path], env=env), log)
            else:
                run = prof.launch([VENV, path], log, marker="none", python_stack="ops", children="each")
            found = [t for where in ("", "children") for t in run.traces(where)]
            adds = [e["args"]["Call stack"] for t in found for e in t.named("aten::add")]
            muls = [e["args"]["Call stack"] for t in found for e in t.named("aten::mul")]
            assert adds == ["forks.py(2): <module>"], (adds, run.err)
            assert muls == ["forks.py(5): <module>"], (muls, run.err)


def run_code(log, code, **given):
    path = os.path.join(log, "program.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(code)
    return prof.launch([VENV, path], log, marker="none", python_stack="ops", **given)


def test_the_agent_compares_while_it_records():
    """Indexing is called with the interpreter's lock held, as few operators are."""
    code = ("import torch\nx = torch.ones(8, 8)\ndef f(n):\n    return f(n - 1) if n else x[1]\n"
            "for i in range(4000):\n    f(i % 40)\n")
    with prof.folder() as log:
        trace = run_code(log, code).only()
        counts = trace.facts["python stacks"]
        assert counts["checked"] > 30 and counts["disagreed"] == 0, counts
        assert trace.facts["facts"]["python"]["frames checked"] > 3, trace.facts["facts"]


def test_loops_of_any_length_are_compared():
    """Of each turn's operators one is called with the lock held."""
    for others in ("x.add(1)", "x.add(1); x.mul(1); x.sub(1)"):
        code = f"import torch\nx = torch.ones(8, 8)\nfor i in range(4000):\n    {others}; x[0]\n"
        with prof.folder() as log:
            counts = run_code(log, code).only().facts["python stacks"]
            assert counts["checked"] > 20 and counts["disagreed"] == 0, (others, counts)


def test_stacks_that_have_no_room_are_told():
    code = ("import torch\nx = torch.ones(2)\nfor i in range(20000):\n"
            "    exec(f'def f{i}():\\n    x.add(1)\\nf{i}()')\n")
    with prof.folder() as log:
        run = run_code(log, code, buffer_mb=8)
        trace = run.only()
        missing = [e for e in trace.named("aten::add") if "Call stack" not in e["args"]]
        lost = trace.facts["python stacks"]["unknown"]
        assert len(missing) > 100 and len(missing) <= lost < 2 * len(missing), (len(missing), lost)
        assert "without a call stack of Python: there was no room for more; try --buffer-mb 32" in run.err, run.err
        assert "without" not in run_code(log, code, buffer_mb=256).err


def test_a_program_without_python_is_told():
    with prof.folder() as log:
        run = prof.launch([prof.prog("edges"), "steps", "3"], log, python_stack="ops", marker="none", check=False)
        assert "no CPython was found in this process" in run.err, run.err


def test_functions_of_atexit_run_again():
    """What is registered last runs first; ours ends stacks, and nothing begins them anew."""
    code = ("import atexit, torch\ntorch.ones(2).add(1)\natexit._run_exitfuncs()\n"
            "import _ctypes_test, _testcapi\ntorch.ones(2).mul(1)\n")
    with prof.folder() as log:
        run = run_code(log, code.replace("import _ctypes_test, _testcapi\n", "import _lsprof, _zoneinfo\n"))
        trace = run.only()
        assert "Call stack" in trace.named("aten::add")[-1]["args"]
        assert "Call stack" not in trace.named("aten::mul")[-1]["args"]
        assert "Python" not in run.err, run.err


PLUGIN = """
import json, sys
from torch_tb_profiler.profiler.data import RunProfileData
with open(sys.argv[1], encoding="utf-8") as file:
    data = RunProfileData.from_json("worker", "1", json.load(file))
print(json.dumps({name: sorted({s for row in rows for s in row.callstacks})
                  for name, rows in data.stack_lists_group_by_name.items()}))
"""


def test_the_plugins_operator_view_has_them():
    train = os.path.join(HERE, "..", "..", "examples", "train.py")
    for dialect in ("kineto", "tb043"):
        with prof.folder() as log:
            run = prof.launch([VENV, train, "--epochs", "1"], log, python_stack="ops", dialect=dialect,
                              schedule="wait=1,warmup=1,active=2,repeat=1")
            said = prof.plain([VENV, "-c", PLUGIN, run.only().path])
            assert said.returncode == 0, said.stderr
            stacks = json.loads(said.stdout)["aten::conv2d"]
            assert len(stacks) == 2 and all("train.py(" in s and s.startswith("torch/nn/modules/conv.py(")
                                            for s in stacks), stacks


CONFINE = """
import ctypes, os, struct, sys, torch
torch.ones(2).add(1)
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 324), (0x06, 0, 0, 0x80000000), (0x06, 0, 0, 0x7fff0000)]
code = b"".join(struct.pack("HBBI", *step) for step in steps)      # membarrier kills
room = ctypes.create_string_buffer(code, len(code))
class Filter(ctypes.Structure):
    _fields_ = [("n", ctypes.c_ushort), ("code", ctypes.c_void_p)]
libc, fine = ctypes.CDLL(None), Filter(len(steps), ctypes.addressof(room))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(fine), 0, 0) == 0
pid = os.fork()
if not pid:
    sys.exit(3)
assert os.waitpid(pid, 0)[1] == 3 << 8
"""


def test_a_program_that_confines_itself():
    with prof.folder() as log:
        assert prof.plain([VENV, "-c", CONFINE]).returncode == 0
        run = run_code(log, CONFINE, check=False)
        assert run.status == 0, run.err


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
