#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 900
# run: full
"""Operators of torch that drive the fake GPU: every launch is in the file, at its operator.

The extension (progs/cuda_ext.cpp) writes down what it launches, step by step.
"""
import collections
import glob
import json
import os
import re
import sys

import cuda
import prof

PYTHON = os.path.join(prof.BUILD, "venv", "bin", "python")
TRAIN = os.path.join(prof.HERE, "progs", "cuda_train.py")
MARKER = "torch:Optimizer.step*"
KERNELS = {"gemm": 61000, "bias": 7000, "relu": 9000, "relu_back": 11000, "mean": 5000,
           "fill": 4000, "sgd": 13000, "scale": 21000, "longest": 3_000_000}
FAKE = {"KERNELS": ",".join(f"_Z{len(name)}{name}*={ns}" for name, ns in KERNELS.items())
        + ",*nccl*=83000"}


class Truth:
    """Step -> rows that the extension wrote."""

    def __init__(self, folder, pid):
        self.steps, step = collections.defaultdict(list), None
        with open(os.path.join(folder, f"truth.{pid}"), encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                step = row.get("step", step)
                if "op" in row and step is not None:
                    self.steps[step].append(row)

    def of(self, steps):
        return [row for step in steps for row in self.steps[step]]


def train(log, version=cuda.NEWEST, what="", steps=8, wrap=(), python=(), fake=None, **given):
    """Runs the loop under the launcher."""
    extension = cuda.extension(version)
    environment = {**cuda.environment(version, **{**FAKE, **(fake or {})}),
                   "CUDA_TRUTH": os.path.join(log, "truth")}
    given.setdefault("marker", MARKER)
    run = prof.launch([PYTHON, *python, TRAIN, extension, "--steps", str(steps), "--what", what],
                      os.path.join(log, "ours"), env=environment, wrap=wrap, **given)
    prof.strict(run.paths())
    return run


def truth_of(log, trace):
    return Truth(log, trace.pid).of(trace.steps())


def operator_of(trace, event):
    number = event["args"].get("External id")
    found = [h for h in cuda.of(trace, *cuda.HOSTS) if h["args"]["External id"] == number]
    assert number and len(found) == 1, (event, found)
    return found[0]["name"]


def belongs(name, op):
    """Autograd spells a C++ function's backward in its own way."""
    if op.endswith("Backward"):
        return op[:-len("Backward")] in name and "evaluate_function" not in name
    return name == op


def short(event):
    return "nccl" if event["name"].startswith("nccl") else \
        re.match(r"(?:void )?(\w+)", event["name"])[1]


def check_work(trace, rows):
    """Kernels, copies and sets, in order of their launches, at their operators."""
    wanted = []
    for row in rows:
        call, op = row["call"], row["op"]
        if call == "cudaLaunchKernel":
            wanted.append(("kernel", row["work"], op, row["amount"]))
        elif call == "cudaGraphLaunch":
            wanted += [("kernel", "scale", op, 4 + k) for k in range(3)]
        elif call == "nccl":
            wanted.append(("kernel", "nccl", op, None))
        elif call == "cudaMemcpyAsync":
            wanted.append(("gpu_memcpy", row["work"], op, row["amount"]))
        elif call == "cudaMemsetAsync":
            wanted.append(("gpu_memset", "set", op, row["amount"]))
    work = sorted(cuda.of(trace, *cuda.WORK),
                  key=lambda e: (e["args"]["correlation"], e["ts"]))
    assert len(work) == len(wanted), (len(work), len(wanted), cuda.counts(trace))
    for event, (kind, name, op, amount) in zip(work, wanted):
        assert event["cat"] == kind, (event, kind, name)
        got = {"kernel": short, "gpu_memcpy": lambda e: e["name"].split()[1],
               "gpu_memset": lambda e: "set"}[kind](event)
        assert got == name, (event, name)
        owner = operator_of(trace, event)
        assert belongs(owner, op) or (name == "nccl" and owner == "nccl:all_reduce"), (event, owner, op)
        size = event["args"]["grid"][0] if kind == "kernel" else event["args"]["bytes"]
        assert amount is None or size == amount, (event, amount)
        if name in KERNELS:
            assert cuda.ns(event["dur"]) == KERNELS[name], event


def check_streams(trace, rows):
    """Work of one of the program's streams is on one row, of another on another."""
    work = sorted(cuda.of(trace, *cuda.WORK), key=lambda e: (e["args"]["correlation"], e["ts"]))
    rows = [r for r in rows for _ in range(r["amount"] if r["call"] == "cudaGraphLaunch" else 1)
            if r["call"] in ("cudaLaunchKernel", "cudaGraphLaunch", "nccl", "cudaMemcpyAsync",
                             "cudaMemsetAsync")]
    seen = collections.defaultdict(set)
    for event, row in zip(work, rows):
        seen[row["device"], row["stream"]].add((event["args"]["device"], event["args"]["stream"]))
    assert all(len(found) == 1 for found in seen.values()), seen
    assert len(set().union(*seen.values())) == len(seen), seen


def check_calls(trace, rows):
    found = cuda.calls(trace)
    wanted = collections.Counter(r["call"] for r in rows if r["call"] != "nccl")
    for call, count in wanted.items():
        got = found.get(call, 0)
        # NCCL may launch through the runtime as well.
        assert got == count or call == "cudaLaunchKernel" and got >= count, (call, count, found)


def check_annotations(trace):
    """GPU copies of annotations hold the work launched in them; none of the steps."""
    host = {h["args"]["External id"]: h for h in cuda.of(trace, "user_annotation", "cpu_op")}
    calls = {c["args"]["correlation"]: c for c in cuda.of(trace, *cuda.CALLS)}
    copies = cuda.of(trace, "gpu_user_annotation")
    assert any(c["name"] == "forward pass" for c in copies), [c["name"] for c in copies]
    for copy in copies:
        assert not copy["name"].startswith("ProfilerStep"), copy
        mine = host[copy["args"]["External id"]]
        assert mine["name"] == copy["name"], (copy, mine)
        inside = [w for w in cuda.of(trace, *cuda.WORK)
                  if (w["pid"], w["args"]["stream"]) == (copy["pid"], copy["tid"])
                  and calls[w["args"]["correlation"]]["tid"] == mine["tid"]
                  and cuda.inside(calls[w["args"]["correlation"]], mine)]
        assert inside and any(cuda.inside(w, copy) for w in inside), (copy, inside)


def check(trace, rows):
    cuda.whole(trace)
    check_work(trace, rows)
    check_streams(trace, rows)
    check_calls(trace, rows)


def test_training():
    """Forward and backward, copies, sets, graphs, NCCL: each version's library."""
    for version in (cuda.NEWEST, "12.8", "11.8"):
        with prof.folder() as log:
            run = train(log, version, "nccl,graph,scratch", record_shapes=True,
                        schedule="wait=1,warmup=1,active=4,repeat=1")
            trace = run.only()
            assert trace.steps() == [2, 3, 4, 5], trace.steps()
            check(trace, truth_of(log, trace))
            check_annotations(trace)
            for worker in run.traces("children"):
                assert not cuda.of(worker, *cuda.WORK, *cuda.CALLS), worker.path


def test_nested_operators():
    """gpu::gemm inside gpu::linear: the innermost one has the kernel."""
    with prof.folder() as log:
        trace = train(log, schedule="wait=2,active=1,repeat=1").only()
        linear, gemm = trace.named("gpu::linear"), trace.named("gpu::gemm")
        assert len(linear) == 2 and len(gemm) == 6, (len(linear), len(gemm))
        assert sum(any(cuda.inside(g, l) for l in linear) for g in gemm) == 2
        for kernel in cuda.of(trace, "kernel"):
            if short(kernel) == "gemm":
                assert operator_of(trace, kernel) == "gpu::gemm", kernel
                assert kernel["args"]["shared memory"] >= 16384, kernel


def test_collectives():
    with prof.folder() as log:
        trace = train(log, what="nccl", schedule="wait=1,active=2,repeat=1").only()
        kernels = [k for k in cuda.of(trace, "kernel") if short(k) == "nccl"]
        assert len(kernels) == 4, len(kernels)
        sizes = sorted(k["args"].get("In msg nelems") for k in kernels)
        assert sizes == [16 * 64] * 2 + [64 * 32] * 2, sizes
        for kernel in kernels:
            args = kernel["args"]
            assert args["Collective name"] == "allreduce" and args["dtype"] == "Float", args
            assert args["Group size"] == 1 and args["Out msg nelems"] == args["In msg nelems"]
        for op in trace.named("record_param_comms"):
            assert op["args"]["Collective name"] == "allreduce", op


def test_windows_and_tails():
    """Back to back; each window has the kernel that ends after it."""
    with prof.folder() as log:
        run = train(log, what="tail", steps=10, schedule="active=2")
        traces = [t for t in run.traces() if t.steps() and max(t.steps()) < 10]
        assert [t.steps() for t in traces[:4]] == [[0, 1], [2, 3], [4, 5], [6, 7]], run.err
        for trace in traces[1:4]:
            check(trace, truth_of(log, trace))
            longest = [k for k in cuda.of(trace, "kernel") if short(k) == "longest"]
            assert len(longest) == 2, len(longest)
            end = max(cuda.ns(e["ts"]) + cuda.ns(e["dur"]) for e in cuda.of(trace, *cuda.WORK))
            host = max(cuda.ns(e["ts"]) + cuda.ns(e["dur"]) for e in trace.slices
                       if e["name"].startswith("ProfilerStep#"))
            assert cuda.ns(trace.window()[1]) >= end, (trace.window(), end)
            assert end > host, (end, host)


def test_two_devices():
    with prof.folder() as log:
        trace = train(log, what="devices", fake={"DEVICES": 2},
                      schedule="wait=1,active=2,repeat=1").only()
        check(trace, truth_of(log, trace))
        assert {k["pid"] for k in cuda.of(trace, "kernel")} == {0, 1}


def test_clocks_apart():
    """Two microseconds between the two clocks move no launch to another operator."""
    for skew in (2000, -2000):
        with prof.folder() as log:
            trace = train(log, "13.0", fake={"SKEW_NS": skew},
                          schedule="wait=1,active=3,repeat=1").only()
            check(trace, truth_of(log, trace))


def test_beside_torch_profiler():
    """torch's own profiler sees operators, as without us."""
    with prof.folder() as log:
        trace = train(log, what="profiler", schedule="wait=1,active=5,repeat=1").only()
        check(trace, truth_of(log, trace))


def test_torchs_own_switch():
    """toggle_collection_dynamic for CUDA: no GPU in steps 3 and 4, all else as without."""
    with prof.folder() as log:
        trace = train(log, what="toggle", schedule="wait=1,active=6,repeat=1").only()
        assert trace.steps() == [1, 2, 3, 4, 5, 6], trace.steps()
        truth = Truth(log, trace.pid)
        begins = {int(e["name"][13:]): e for e in trace.slices if e["name"].startswith("ProfilerStep#")}
        for step, slice_ in begins.items():
            calls = [c for c in cuda.of(trace, "cuda_runtime") if cuda.inside(c, slice_)]
            launched = sum(c["name"] == "cudaLaunchKernel" or c["name"] == "__cudaLaunchKernel"
                           for c in calls)
            want = sum(row["call"] == "cudaLaunchKernel" for row in truth.of([step]))
            assert launched == (0 if step in (3, 4) else want), (step, launched, want)
        operators = [e for e in cuda.of(trace, "cpu_op") if cuda.inside(e, begins[3])]
        assert len(operators) > 10, len(operators)


def test_a_cupti_inside_torch():
    """As in torch 1.13's wheel: while its profiler has the GPU we have a gap, and say so."""
    with prof.folder() as log:
        os.environ["CUDA_BUNDLED"] = os.path.join(prof.BUILD, "fake", "cudart", "libcudart-e409450e.so.11.0")
        run = train(log, "11.8", what="bundled", steps=10, schedule="wait=1,active=8,repeat=1")
        trace = run.only()
        assert "records the GPU now: our traces have a gap" in run.err, run.err
        assert cuda.gpu_facts(trace)["gaps"] == 1, cuda.gpu_facts(trace)
        truth = Truth(log, trace.pid)
        for slice_ in (e for e in trace.slices if e["name"].startswith("ProfilerStep#")):
            step = int(slice_["name"][13:])
            launched = sum(c["name"] == "cudaLaunchKernel" and cuda.inside(c, slice_)
                           for c in cuda.of(trace, "cuda_runtime"))
            want = sum(row["call"] == "cudaLaunchKernel" for row in truth.of([step]))
            assert launched == (0 if step in (3, 4) else want) or step in (2, 5), (step, launched, want)


def test_dialect_of_the_plugin():
    """tb043: NCCL's kernel has the id of nccl:all_reduce, which is an operator there."""
    with prof.folder() as log:
        trace = train(log, what="nccl", dialect="tb043", schedule="wait=1,active=2,repeat=1").only()
        comm = {e["args"]["External id"] for e in trace.named("nccl:all_reduce")
                if e["cat"] == "cpu_op"}
        kernels = [k for k in cuda.of(trace, "kernel") if short(k) == "nccl"]
        assert len(comm) == 4 and len(kernels) == 4, (len(comm), len(kernels))
        assert {k["args"]["External id"] for k in kernels} == comm


def test_two_ranks():
    """Two processes, gloo between them, a GPU each."""
    with prof.folder() as log:
        run = train(log, what="nccl,sum", steps=6, fake={"DEVICES": 2},
                    python=["-m", "torch.distributed.run", "--nproc_per_node=2",
                            "--master_port", str(20000 + os.getpid() % 20000)],
                    schedule="wait=1,warmup=1,active=2,repeat=1", timeout=300)
        traces = run.traces()
        ranks = sorted(t.raw["distributedInfo"]["rank"] for t in traces)
        assert ranks == [0, 1], (ranks, run.err)
        for trace in traces:
            assert trace.steps() == [2, 3]
            check(trace, truth_of(log, trace))
            kernels = [k for k in cuda.of(trace, "kernel") if short(k) == "nccl"]
            assert all(k["args"]["Group size"] == 2 for k in kernels), kernels
        assert len(glob.glob(os.path.join(log, "truth.*"))) == 2


prof.main(sys.modules[__name__])
