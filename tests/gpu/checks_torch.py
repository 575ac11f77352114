# SPDX-License-Identifier: Apache-2.0
"""Real programs of torch on a real GPU: fidelity, graphs, Triton, streams, capture."""
import functools
import os
import sys

import fidelity
from common import Run, Site, Trace, check, expect, last_json, output, torch_work

MODES = ("train", "streams", "graph", "compile")


def strict(run):
    checker = os.path.join("tests", "readers", "strict.py")
    done = output([sys.executable, checker, *run.paths], fail=False)
    expect(done.returncode == 0, f"strict: {done.stdout[-800:]}")


@functools.lru_cache(None)
def alone(mode):
    """torch.profiler's own trace, without us."""
    path = os.path.join(Site.out, "traces", f"torch_alone_{mode}.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    output(torch_work(mode, "--steps", 8, "--profiler", path))
    return Trace(path, exact=True)


@functools.lru_cache(None)
def beside(mode):
    """torch.profiler's trace, and ours of the same process."""
    path = os.path.join(Site.out, "traces", f"torch_tee_{mode}.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    run = Run(f"tee_{mode}", torch_work(mode, "--steps", 8, "--profiler", path), marker="none")
    strict(run)
    return Trace(path, exact=True), run.only(exact=True)


@check("fidelity_alone", "torch.profiler's own trace is with us what it is without")
def fidelity_alone():
    result = {}
    for mode in ("train", "graph"):
        result[mode], problems = fidelity.two_runs(alone(mode), beside(mode)[0])
        for problem in problems[:10]:
            expect(False, f"fidelity_alone, {mode}: {problem}")
    return result


@check("fidelity_two", "two runs, one profiler each: names, counts and grids exactly")
def fidelity_two():
    result = {}
    for mode in MODES[:3]:  # what Triton chooses may differ from run to run
        run = Run(f"two_{mode}", torch_work(mode, "--steps", 8), marker="none")
        strict(run)
        result[mode], problems = fidelity.two_runs(alone(mode), run.only())
        for problem in problems[:10]:
            expect(False, f"fidelity_two, {mode}: {problem}")
    return result


@check("fidelity_one", "one process, torch.profiler and us through the tee: the same, to the nanosecond", apart=True)
def fidelity_one():
    result = {"torch.profiler has a clock of its own": fidelity.own_clock()}
    for mode in MODES:
        result[mode], problems = fidelity.same_process(*beside(mode))
        for problem in problems[:10]:
            expect(False, f"fidelity_one, {mode}: {problem}")
    return result


def whole(name, trace, part=1.0):
    links = trace.linked()
    expect(links["gpu work"] > 0, f"{name}: no GPU work")
    expect(links["with its call"] == links["gpu work"], f"{name}: {links}")
    expect(links["with an operator"] >= part * links["gpu work"], f"{name}: {links}")
    return links


@check("graphs", "a replayed CUDA graph: node by node, at its launch", apart=True)
def graphs():
    run = Run("graphs", torch_work("graph", "--steps", 20), marker="torch:Optimizer.step*",
              schedule="wait=5,active=5,repeat=1")
    trace = run.only()
    strict(run)
    launches = trace.names("cuda_runtime", "cuda_driver").get("cudaGraphLaunch", 0)
    expect(launches == 5, f"graphs: {launches} launches of 5")
    per_launch = {}
    for kernel in trace.of("kernel"):
        if kernel["args"].get("graph id"):
            key = kernel["args"]["correlation"]
            per_launch[key] = per_launch.get(key, 0) + 1
    expect(len(set(per_launch.values())) == 1, f"graphs: nodes per launch {per_launch}")
    return {"launches": launches, "nodes": sorted(set(per_launch.values())),
            "facts": trace.facts.get("cuda"), **trace.linked()}


@check("triton", "torch.compile: Triton's kernels have their launch and their operator", apart=True)
def triton():
    run = Run("triton", torch_work("compile", "--steps", 12), marker="torch:Optimizer.step*",
              schedule="wait=6,active=3,repeat=1", timeout=200)
    trace = run.only()
    strict(run)
    kernels = [k for k in trace.of("kernel") if k["name"].startswith("triton")]
    expect(kernels, f"triton: {trace.names('kernel')}")
    return {"kernels": len(kernels), "driver calls": trace.names("cuda_driver"),
            **whole("triton", trace, 0.95)}


@check("streams", "four streams with events: four rows, nothing lost", apart=True)
def streams():
    run = Run("streams", torch_work("streams", "--steps", 12), marker="torch:Optimizer.step*",
              schedule="wait=4,active=3,repeat=1", cuda_sync="on")
    trace = run.only()
    strict(run)
    rows = {k["args"]["stream"] for k in trace.of("kernel")}
    expect(len(rows) >= 4, f"streams: rows {rows}")
    return {"rows": len(rows), "syncs": trace.names("cuda_sync"), **whole("streams", trace)}


@check("capture", "a capture on another thread is not disturbed", apart=True)
def capture():
    command = torch_work("capture", "--steps", 12)
    alone = last_json(output(command).stdout)["loss"]
    run = Run("capture", command, marker="torch:Optimizer.step*", schedule="wait=2,active=8,repeat=1")
    expect(run.json()["loss"] == alone, f"capture: {run.json()['loss']} instead of {alone}")
    estimate = Run("capture_estimate", command, env={"PROF_CUDA_ESTIMATE": "on"}, marker="none")
    expect(estimate.json()["loss"] == alone, "capture: another result with cuda_estimate")
    return {"loss": alone, **whole("capture", run.only(), 0.9)}


@check("ahead", "the host runs ahead: the window keeps the kernels of its last step", apart=True)
def ahead():
    run = Run("ahead", torch_work("ahead", "--steps", 12), marker="torch:Optimizer.step*",
              schedule="wait=4,active=3,repeat=1")
    trace = run.only()
    kernels = [k for k in trace.of("kernel") if k["dur"] > 100]
    expect(len(kernels) == 24, f"ahead: {len(kernels)} of 24 long kernels")
    if not kernels:
        return {"long kernels": 0}
    host = max((e["ts"] + e["dur"] for e in trace.slices if e["name"].startswith("ProfilerStep#")))
    return {"long kernels": len(kernels),
            "ms that the GPU ends later": round((max(k["ts"] + k["dur"] for k in kernels) - host) / 1e3, 1)}


@check("windows", "many windows back to back, and one after the other: nothing lost, nothing twice", apart=True)
def windows():
    run = Run("windows", torch_work("tiny", "--steps", 12), marker="torch:Optimizer.step*",
              schedule="active=1")
    counts = [len(t.of("kernel")) for t in run.traces()]
    full = [c for c in counts[1:-1]]
    expect(len(set(full)) == 1 and full[0] >= 1000, f"windows: kernels {counts}")
    return {"kernels": counts}
