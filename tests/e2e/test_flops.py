#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""--with-flops: operators have the FLOPs that torch.profiler gives them, and work is counted once."""
import collections
import json
import os
import sys

import prof

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "progs", "flops.py")
VENV = os.path.join(prof.BUILD, "venv", "bin", "python")
SYSTEM = "/usr/bin/python3"
# flop_counter has no formula for products of vectors and for elements; it knows convolutions by one name.
UNKNOWN_THERE = ("aten::mul", "aten::add", "aten::mv", "aten::dot")
NAMES_THERE = {"aten::conv2d": "aten::convolution"}


def kept(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def with_flops(trace):
    """Operators with a number, by time."""
    return sorted((e for e in trace.slices if "flops" in e.get("args", {})), key=lambda e: e["ts"])


def outermost(events):
    """Those that lie in no other one of their thread."""
    found, ends = [], {}
    for e in events:
        if e["ts"] >= ends.get(e["tid"], 0):
            found.append(e)
            ends[e["tid"]] = e["ts"] + e["dur"]
    return found


def run_program(python, mode, log, **given):
    return prof.launch([python, PROGRAM, mode, log], log, marker="none", flops=True, **given)


def each_torch(test):
    for python in (VENV, SYSTEM):
        if prof.plain([python, "-c", "import torch"]).returncode == 0:
            test(python)


def test_each_operators_are_torchs():
    def one(python):
        with prof.folder() as log:
            trace = run_program(python, "profile", log).only()
            theirs = kept(log, "profile.json")
            inside = trace.named("inside")[-1]
            ours = [[e["name"], e["args"]["flops"]] for e in with_flops(trace) if "flops_source" not in e["args"]
                    and inside["ts"] <= e["ts"] < inside["ts"] + inside["dur"]]
            assert len(theirs) > 25 and ours == theirs, (ours, theirs)
            assert {name for name, _ in theirs} == {
                "aten::" + name for name in ("mm", "addmm", "bmm", "baddbmm", "conv2d", "mul", "add")}, theirs
    each_torch(one)


def test_sums_are_flop_counters():
    with prof.folder() as log:
        trace = run_program(VENV, "plain", log).only()
        run = prof.plain([VENV, PROGRAM, "count", log])
        assert run.returncode == 0, run.stderr
        ours = collections.Counter()
        for e in outermost(with_flops(trace)):
            if e["name"] not in UNKNOWN_THERE:
                ours[NAMES_THERE.get(e["name"], e["name"])] += e["args"]["flops"]
        theirs = kept(log, "count.json")
        assert len(theirs) >= 8 and dict(ours) == {name: n for name, n in theirs.items() if n}, (ours, theirs)


def test_the_file_has_their_sum():
    with prof.folder() as log:
        run = run_program(VENV, "plain", log)
        trace = run.only()
        events = with_flops(trace)
        assert trace.facts["flops"] == {"operators": len(events), "not computed": 0,
                                        "total": sum(e["args"]["flops"] for e in outermost(events))}, trace.facts
        assert trace.raw["with_flops"] == trace.raw["record_shapes"] == 1
        assert all(e["args"]["Input Dims"] for e in events)
        assert {e["args"].get("flops_source", "proflaunch") for e in events} == {"proflaunch"}
        prof.strict(run.paths())
        total = trace.facts["flops"]["total"]
        said = [line for line in run.err.splitlines() if "FLOP" in line]
        assert len(said) == 1 and f"{total / 1e6:.3g} MFLOP in " in said[0] and "FLOP/s" in said[0], run.err
        assert "computed" not in run.err


def test_what_is_not_computed_is_said():
    code = ("import torch, torch.nn as nn\nfrom torch.ao.quantization import quantize_dynamic\n"
            "net = quantize_dynamic(nn.Sequential(nn.Linear(8, 8)), {nn.Linear}, dtype=torch.qint8)\nnet(torch.ones(2, 8))\n")
    with prof.folder() as log:
        run = prof.launch([VENV, "-W", "ignore", "-c", code], log, marker="none", flops=True)
        if not run.only().named("quantized::linear_dynamic"):
            raise prof.Skip("this torch has no quantised products")
        assert run.only().facts["flops"]["not computed"] == 1, run.only().facts
        assert "those of 1 operator could not be computed" in run.err, run.err


def test_a_killed_programs_file_has_them():
    code = "import torch, os\ntorch.ones(4, 8) @ torch.ones(8, 6)\nos.kill(os.getpid(), 9)\n"
    with prof.folder() as log:
        run = prof.launch([VENV, "-c", code], log, marker="none", flops=True, check=False)
        assert run.only().facts["flops"] == {"operators": 1, "not computed": 0, "total": 384}, run.only().facts


def test_the_ways_to_ask():
    code = "import torch; torch.ones(2).add(1)"
    ways = [(["--with-flops"], {}, None), (["--with-flops=on"], {}, None), (["--flops"], {}, None),
            (["--flops", "on", "--record-shapes=off"], {}, None), ([], {"PROF_WITH_FLOPS": "1"}, None),
            ([], {"PROF_FLOPS": "yes"}, None), ([], {}, "with_flops = on"), ([], {}, "flops = on")]
    for words, env, line in ways:
        with prof.folder() as log:
            if line:
                path = os.path.join(log, "given.conf")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(line + "\n")
                words = ["--config", path]
            run = prof.plain([prof.LAUNCHER, "--logdir", log, "--marker", "none", *words, "--", VENV, "-c", code],
                             env={**os.environ, **env})
            assert run.returncode == 0, run.stderr
            trace = prof.Run(run, log).only()
            assert trace.named("aten::add")[-1]["args"]["flops"] == 2, (words, env)
    for words, answer in ((["--with-flops", "off"], "--with-flops=off"), (["--with-flosp"], "--with-flops?"),
                          (["--flops=maybe"], "neither on nor off")):
        run = prof.plain([prof.LAUNCHER, *words, "--", "true"])
        assert run.returncode == 2 and answer in run.stderr, run.stderr


def test_off_is_off():
    with prof.folder() as log:
        run = prof.launch([VENV, PROGRAM, "plain"], log, marker="none", record_shapes=True)
        trace = run.only()
        assert not with_flops(trace) and "flops" not in trace.facts and "with_flops" not in trace.raw
        assert "FLOP" not in run.err
        shown = prof.plain([prof.LAUNCHER, "report", trace.path, "--view", "ops", "--format", "json"])
        rows = json.loads(shown.stdout)["operators"]
        assert rows and all(row["flops"] is None for row in rows), shown.stdout


def test_the_report_shows_them():
    with prof.folder() as log:
        trace = run_program(VENV, "plain", log).only()
        each, torchs = collections.Counter(), collections.Counter()
        for name in {e["name"] for e in with_flops(trace)}:
            # Of an operator in one of its name torch shows one.
            for e in outermost([e for e in with_flops(trace) if e["name"] == name]):
                each[name] += e["args"]["flops"]
                torchs[name] += 0 if "flops_source" in e["args"] else e["args"]["flops"]
        words = [prof.LAUNCHER, "report", trace.path, "--view", "ops", "--limit", "100000"]
        rows = json.loads(prof.plain([*words, "--format", "json"]).stdout)["operators"]
        assert {row["key"]: row["flops"] for row in rows if row["flops"]} == each, rows
        assert "FLOPs" in prof.plain(words).stdout
        table = prof.plain([*words, "--like-torch"]).stdout.splitlines()
        assert table[1].endswith(" Total KFLOPs  "), table[1]
        shown = {line.split()[0]: line.split()[-1] for line in table[3:] if line.startswith(" ")}
        assert {name: round(float(n) * 1000) for name, n in shown.items() if n != "--"} == +torchs, (shown, torchs)


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
