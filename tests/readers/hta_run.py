#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hta_run.py FOLDER... - HolisticTraceAnalysis on each FOLDER/torch and FOLDER/ours.

Every analysis that runs on torch.profiler's own CPU trace must run on ours and give an
answer of the same kind: the same columns, the same steps, the same operators.  (The
temporal and idle breakdowns and others fail on both, for want of kernels.)

HTA rounds times to microseconds, which gives short events a duration of -1; its call
graph then fails, or not, by chance.  So all is run again without rounding, and there
that excuse does not count.
"""
import inspect
import json
import logging
import os
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
from hta.common.trace_call_graph import CallGraph
from hta.trace_analysis import TraceAnalysis
from hta.trace_diff import TraceDiff
from hta.utils.validate_trace import validate_trace_format

ROUNDING = "Unexpected case"
# What the arguments without a default are given.
GIVEN = {"rank": 0, "annotation": "ProfilerStep", "instance_id": 0, "operator_name": "aten::conv2d",
         "visualize": False, "queue_length_dict": {}}


def analyses(analysis, folder):
    """Runs each public method; name -> kind of its answer, or the exception's name."""
    found = {}
    for name, method in inspect.getmembers(TraceAnalysis, inspect.isfunction):
        if name.startswith("_"):
            continue
        given = {key: value for key, value in GIVEN.items()
                 if key in inspect.signature(method).parameters}
        if "output_dir" in inspect.signature(method).parameters:
            given["output_dir"] = folder
        if name == "overlay_critical_path_analysis":
            given["critical_path_graph"] = found.get("graph")
        try:
            answer = getattr(analysis, name)(**given)
            found[name] = kind(answer)
            if name == "critical_path_analysis":
                found["graph"] = answer[0]
        except Exception as error:
            found[name] = f"fails with {type(error).__name__}: {str(error)[:60]}"
    found.pop("graph", None)
    return found


def kind(answer):
    if hasattr(answer, "columns"):
        return f"table of {sorted(map(str, answer.columns))}"
    if isinstance(answer, dict):
        return {str(key): kind(value) for key, value in answer.items()}
    if isinstance(answer, (list, tuple)) and answer and all(isinstance(n, int) for n in answer):
        return list(answer)
    if isinstance(answer, (list, tuple)):
        return [kind(value) for value in answer]
    return type(answer).__name__


def operators(analysis):
    """Name -> calls, as HTA's own table of the trace has them."""
    table = analysis.t.get_trace(0)
    names = analysis.t.symbol_table.get_sym_table()
    rows = table[table["cat"].map(lambda c: names[c]) == "cpu_op"]
    return rows["name"].map(lambda n: names[n]).value_counts().to_dict()


def study(folder):
    with tempfile.TemporaryDirectory() as scratch:
        analysis = TraceAnalysis(trace_dir=folder)
        found = analyses(analysis, scratch)
        try:
            found["CallGraph"] = len(CallGraph(analysis.t, ranks=[0]).call_stacks)
        except Exception as error:
            found["CallGraph"] = f"fails with {error}"
        path = os.path.join(folder, sorted(os.listdir(folder))[0])
        found["validate_trace_format"] = kind(validate_trace_format(path))
        found["operators"] = operators(analysis)
        return analysis, found


def chance(answer):
    return isinstance(answer, str) and ROUNDING in answer and not unrounded()


def unrounded():
    return os.environ.get("HTA_DISABLE_NS_ROUNDING") == "1"


def compare(torch_folder, our_folder):
    torch, theirs = study(torch_folder)
    mine, ours = study(our_folder)
    bad = 0
    for name, answer in theirs.items():
        if isinstance(answer, str) and answer.startswith("fails"):
            print(f"{name}: {answer} on torch.profiler's own trace")
        elif name == "operators":
            # In the dialect tb043 some annotations are operators, too.
            other = {op: calls for op, calls in answer.items() if ours[name].get(op) != calls}
            print(f"{name}: {other or 'the same'}")
            bad += bool(other)
        elif chance(ours[name]):
            print(f"{name}: {ours[name]}, by rounding, on ours")
        elif answer != ours[name]:
            print(f"{name}: torch {json.dumps(answer)[:300]}, ours {json.dumps(ours[name])[:300]}")
            bad += 1
    compared = TraceDiff.compare_traces(torch.t, mine.t)
    changed = compared[compared["diff_counts"] != 0] if "diff_counts" in compared else compared
    if len(changed):
        print(f"TraceDiff sees other counts:\n{changed.head(10)}")
        bad += 1
    runs = sum(not (isinstance(a, str) and a.startswith("fails")) for a in theirs.values())
    print(f"{'exact' if unrounded() else 'rounded'}: {runs} analyses run on torch.profiler's "
          f"trace, {bad} are different on ours")
    return bad


def main(folders):
    bad = 0
    for folder in folders:
        print(f"{folder}:")
        for word in "0", "1":
            os.environ["HTA_DISABLE_NS_ROUNDING"] = word
            bad += compare(os.path.join(folder, "torch"), os.path.join(folder, "ours"))
    return bad > 0 or not folders


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
