#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
# run: waits
"""Native stacks and Python's are one, in the order in which known programs call."""
import os
import re
import sys

import prof
from test_python_memory import interpreters

PROGRAMS = os.path.join(prof.HERE, "..", "python")
VENV = os.path.join(prof.BUILD, "venv", "bin", "python")
LOOP = "_PyEval_EvalFrameDefault"

# Innermost first; "/" before a function of C, whose name a stripped interpreter lacks.
BLOCKS = {
    1000001: ["alloc", "key", "/list_sort", "inner", "/map_next", "outer", "<module>", "/PyEval_EvalCode"],
    1100001: ["alloc", "__init__", "/slot_tp_init", "<module>", "/PyEval_EvalCode"],
    1200001: ["alloc", "__lt__", "/slot_tp_richcompare", "/list_sort", "<module>", "/PyEval_EvalCode"],
    1300001: ["alloc", "generator", "from_generator", "/list_", "<module>", "/PyEval_EvalCode"],
    1400001: ["alloc", "compare", "/msort_with_tmp|.*qsort", "sort_by_c", "<module>", "/PyEval_EvalCode"],
    1500001: ["alloc", "/partial_", *["deep"] * 10, "<module>", "/PyEval_EvalCode"],
    1600001: ["alloc", "<lambda>", "/map_next", "/builtin_sum", "__missing__", "/dict_subscript", "<module>",
              "/PyEval_EvalCode", "/builtin_exec", "<module>", "/PyEval_EvalCode"],
    1700001: ["alloc", "twice", "<module>", "/PyEval_EvalCode"],
    1800001: ["alloc", "twice", "/partial_", "<module>", "/PyEval_EvalCode"],
}
OPERATORS = {
    101: ["/at::_ops::sgn", "work", "key", "/list_sort", "<module>", "/PyEval_EvalCode"],
    102: ["/at::_ops::sgn", "forward", "_call_impl", "_wrapped_call_impl", "/slot_tp_call", "forward", "_call_impl",
          "_wrapped_call_impl", "/slot_tp_call", "<module>", "/PyEval_EvalCode"],
    103: ["/at::_ops::sgn", "work", "backward", "apply", "/torch::autograd::Engine::", "_engine_run_backward",
          "backward", "backward", "<module>", "/PyEval_EvalCode"],
    104: ["/at::_ops::sgn", "work", "<module>", "/PyEval_EvalCode"],
}


def line(frame):
    """Python's function, if it is a frame of Python's."""
    found = re.search(r"\(\d+\): (.*)", frame)
    return found and found[1]


def in_order(frames, wanted, named):
    """Python's frames are all of the wanted ones; C's lie where they are wanted."""
    at = 0
    for want in wanted:
        begin = at
        while at < len(frames) and not line(frames[at]) and not (want[0] == "/" and re.match(want[1:], frames[at])):
            at += 1
        if want[0] != "/":
            assert frames[at:at + 1] and line(frames[at]) == want, (want, at, frames)
            at += 1
        elif named:
            assert frames[at:at + 1] and re.match(want[1:], frames[at]), (want, at, frames)
        else:
            assert at > begin or re.match(want[1:], frames[at]), (want, at, frames)
    assert not any(map(line, frames[at:])), (at, frames)


def no_loop_left(frames):
    assert not any(frame.startswith(LOOP) for frame in frames), frames


def heap_stacks(trace):
    """(args of a block or site, its frames)"""
    heap = trace.facts["heap"]
    rows = heap["sites"] + [e["args"] for e in trace.raw["traceEvents"] if e.get("cat") == "heap"]
    for row in rows:
        if row["stack"] is not None:
            yield row, [heap["frames"][n] for n in heap["stacks"][row["stack"]]]


def record(log, path, program, **given):
    return prof.launch([path, os.path.join(PROGRAMS, program)], log, marker="none", python_stack="ops", **given)


def counts(trace):
    facts = trace.facts["python stacks"]
    return facts.get("merged", 0), facts.get("apart, as one is cut", 0), facts.get("apart, as they do not fit", 0)


def check_blocks(version, path):
    with prof.folder() as log:
        trace = record(log, path, "order.py", malloc="all", stack_depth=512).only()
    seen = set()
    merged = 0
    for row, frames in heap_stacks(trace):
        lines = [frame for frame in frames if line(frame)]
        if "Call stack" not in row:
            assert not lines, (row, frames)
            continue
        if lines:
            merged += 1
            assert ";".join(lines) == row["Call stack"], (lines, row)
            no_loop_left(frames)
        wanted = BLOCKS.get(row["bytes"] - 1) or BLOCKS.get(row["bytes"])
        if wanted and "address" in row:
            named = not any(frame.startswith("?? (python") for frame in frames)
            in_order(frames, wanted, named)
            if version >= (3, 11):  # calls from Python to Python stay in Python
                assert frames.index(lines[0]) + 1 == frames.index(lines[1]) or wanted[1][0] == "/", frames
            seen.add(row["bytes"])
    assert len(seen) == len(BLOCKS), (path, sorted(seen))
    done, cut, unfit = counts(trace)
    assert done > 100 and not cut and not unfit, (path, done, cut, unfit)
    return merged


def test_blocks_lie_below_what_called_them():
    for version, path in interpreters().items():
        print("  Python %d.%d: %d stacks" % (*version, check_blocks(version, path)), flush=True)


def check_told_depth(program):
    with prof.folder() as log:
        run = record(log, "/usr/bin/python3", program, malloc="all", stack_depth=20)
        said = re.search(r"apart in [\d,]+ of [\d,]+ call stacks: one of the two is cut; try --stack-depth (\d+)", run.err)
        assert said and counts(run.only())[1] > 10, run.err
    with prof.folder() as log:
        run = record(log, "/usr/bin/python3", program, malloc="all", stack_depth=int(said[1]))
        assert counts(run.only())[1:] == (0, 0) and "apart" not in run.err, (counts(run.only()), run.err)


def test_a_depth_that_merges_all_is_told():
    check_told_depth("order.py")


def test_it_is_that_of_the_deepest_that_look_alike():
    check_told_depth("depths.py")


def test_operators_lie_below_what_called_them():
    if prof.plain([VENV, "-c", "import torch"]).returncode:
        raise prof.Skip("no torch")
    with prof.folder() as log:
        trace = record(log, VENV, "order_torch.py", record_shapes=True, native_stacks="ops", stack_depth=512).only()
    with prof.folder() as log:
        plain = record(log, VENV, "order_torch.py", record_shapes=True, native_stacks="off", stack_depth=512).only()
    done, cut, unfit = counts(trace)
    assert done > 30 and not cut and not unfit, (done, cut, unfit)
    assert counts(plain) == (0, 0, 0)
    seen = 0
    for event in trace.named("aten::sgn"):
        size = event["args"]["Input Dims"][0][0]
        frames = event["args"]["Call stack"].split(";")
        assert "Native call stack" not in event["args"]
        no_loop_left(frames)
        if size in OPERATORS:
            in_order(frames, OPERATORS[size], True)
            seen += 1
    assert seen == len(OPERATORS)
    # The lines are those of a run without native stacks, in code that torch made as well.
    ours, theirs = ([(e["name"], [frame for frame in e["args"].get("Call stack", "").split(";") if line(frame)])
                     for e in t.slices if e["cat"] == "cpu_op"] for t in (trace, plain))
    assert ours == theirs


def test_views_of_lines_have_lines_alone():
    if prof.plain([VENV, "-c", "import torch"]).returncode:
        raise prof.Skip("no torch")
    with prof.folder() as log:
        run = record(log, VENV, "order_torch.py", record_shapes=True, modules=True, native_stacks="ops,malloc",
                     malloc="sample", malloc_sample_kb=64, stack_depth=512)
        paths = run.paths()
        said = prof.plain([prof.LAUNCHER, "export", "--stacks", *paths]).stdout
        frames = [frame for text in said.splitlines() for frame in text.rsplit(" ", 1)[0].split(";")]
        assert any(frame.endswith(":_work") for frame in frames)
        assert all(re.search(r"\(\d+\):_|^nn\.Module:_", frame) for frame in frames), said
        for view in ["python"], ["ops", "--group-by", "stack:2"]:
            rows = prof.plain([prof.LAUNCHER, "report", "--view", *view, "--format", "csv", *paths]).stdout
            assert re.search(r"order_torch.py[(:]\d+", rows), rows
            assert "_ops::" not in rows and "list_sort" not in rows, rows
        folded = prof.plain([prof.LAUNCHER, "export", "--folded", *paths]).stdout
        assert re.search(r"list_sort.*;[^;]*: key;[^;]*: work;.*THPVariable_sgn.*;aten::sgn ", folded), folded
        # A module is around an operator that has a stack, and what that calls shares it.
        roots = re.findall(r"^(.*order_torch.py\(\d+\): forward;.*THPVariable_ones.*;aten::ones)(?:;aten::fill_)? ", folded, re.M)
        assert roots and len(set(roots)) == 1, folded
        assert not re.search("^nn.Module.*;aten::", folded, re.M), folded
        live = prof.plain([prof.LAUNCHER, "export", "--folded", "--by", "live", *paths]).stdout
        assert re.search(r"^[^;]*order_torch.py\(\d+\): <module>;aten::empty;[^;]*;\[heap\] 16777\d+$", live, re.M), live[-9999:]
        for text in live.splitlines():
            lines = [bool(line(frame)) for frame in text.split(";")]
            assert lines == sorted(lines, reverse=True), text
        memory = prof.plain([prof.LAUNCHER, "memory", "--device", "heap", *paths]).stdout
        assert re.search(r"order_torch.py\(\d+\): <module>\s+<\s+\[aten::empty\]", memory) and LOOP not in memory, memory
        sites = [e["args"]["site"] for e in run.only().raw["traceEvents"] if e.get("cat") == "heap"]
        assert any(site and "at::" in site for site in sites), sites
        assert not any(line(site) for site in sites if site), sites


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
