#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 200
"""native_stacks=ops: which functions of C and C++ called an operator, where there is Python and where not."""
import os
import sys

import prof

VENV = os.path.join(prof.BUILD, "venv", "bin", "python")


def stack(event):
    return event["args"].get("Call stack", "")


def edges(mode, n, log, **given):
    run = prof.launch([prof.prog("edges"), mode, str(n)], log, native_stacks="ops", **given)
    prof.strict(run.paths())
    return run


def is_ours(event):
    """From the program's own function out to its begin, and nothing of the agent's."""
    frames = stack(event).split(";")
    return any(f.startswith("main (edges") for f in frames) and "libproflaunch" not in stack(event)


def test_a_program_without_python():
    with prof.folder() as log:
        first, second = edges("open", 1, log, schedule="active=1,repeat=2").traces()
        assert is_ours(first.named("from 0 to 1")[0]), first.named("from 0 to 1")
        assert not stack(first.named("inside 0")[0]), first.named("inside 0")
        for name in "inside 1", "open at exit":
            assert is_ours(second.named(name)[0]), second.named(name)
        assert not stack(second.named("inside never")[0])


def test_threads():
    """Each for itself, also where an operator ends on another one."""
    with prof.folder() as log:
        trace = edges("threads", 8, log, marker="none").only()
        found = [stack(e) for e in trace.named("in a thread")]
        assert len(found) == 80 and all("start_thread" in s or "clone" in s for s in found), found[:2]
    with prof.folder() as log:
        trace = edges("crossing", 1, log, schedule="active=1,repeat=1").only()
        assert all(is_ours(e) for name in ("travels", "after") for e in trace.named(name)), trace.named("after")
        assert not any(stack(e) for e in trace.named("here")), trace.named("here")
        assert all(stack(e) and "main (edges" not in stack(e) for e in trace.named("there")), trace.named("there")


CODE = """import torch
def called(x):
    return torch.ones(2).add(x)
for x in map(called, range(3)):
    pass
with torch.autograd.profiler.record_function("said"):
    torch.nn.functional.linear(torch.ones(2, 2), torch.ones(2, 2))
"""


def python(log, code=CODE, **given):
    path = os.path.join(log, "code.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(code)
    run = prof.launch([VENV, path], log, marker="none", **given)
    prof.strict(run.paths())
    return run


def test_python_with_native_stacks_alone():
    with prof.folder() as log:
        trace = python(log, native_stacks="ops").only()
        adds, outer, inner = trace.named("aten::add"), trace.named("aten::linear")[0], trace.named("aten::mm")[0]
        assert len(adds) == 3 and all("THPVariable_add" in stack(e) and "map_next" in stack(e) for e in adds), adds
        assert "THPVariable_linear" in stack(outer) and not stack(inner), (outer, inner)
        assert "record_function_enter" in stack(trace.named("said")[0]), trace.named("said")
        assert not any("code.py" in stack(e) or "libproflaunch" in stack(e) for e in trace.slices)


def test_with_the_lines_of_python():
    """One stack: C is above Python's line where it called the operator, below where it called the function."""
    with prof.folder() as log:
        for event in python(log, native_stacks="on", python_stack="ops").only().named("aten::add"):
            order = [stack(event).find(text) for text in
                     ("THPVariable_add", "code.py(3): called", "map_next", "code.py(4): <module>", "Py_BytesMain")]
            assert -1 not in order and order == sorted(order), (order, event)


def test_nothing_unasked():
    with prof.folder() as log:
        trace = python(log).only()
        assert not any(stack(e) for e in trace.slices), trace.names()


def test_a_child():
    """Ids of the parent's stacks are none of the child's."""
    code = CODE + ("import os\npid = os.fork()\nif not pid:\n    for x in map(called, range(3)):\n        pass\n"
                   "else:\n    os.waitpid(pid, 0)\n")
    with prof.folder() as log:
        run = python(log, code, native_stacks="ops", children="each")
        found = [t for where in ("", "children") for t in run.traces(where)]
        assert len(found) == 2, run.err
        for trace in found:
            adds = trace.named("aten::add")
            assert len(adds) == 3 and all("map_next" in stack(e) and "_start (" in stack(e) for e in adds), adds


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
