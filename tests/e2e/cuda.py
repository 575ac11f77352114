# SPDX-License-Identifier: Apache-2.0
"""What the tests on the fake GPU share: where the fakes are, and what every trace owes.

tests/fake/fake.h says what the variables FAKE_* do.
"""
import collections
import fcntl
import functools
import glob
import os
import re
import subprocess

import prof

VERSIONS = ("11.7", "11.8", "12.1", "12.4", "12.8", "13.0", "13.1", "13.3", "13.4")
NEWEST = VERSIONS[-1]
WORK = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")
HOSTS = ("cpu_op", "user_annotation")
# Of one step of cuda_work's `loop`.
STEP = {"kernel": 4, "gpu_memcpy": 2, "gpu_memset": 1}
STEP_CALLS = {"cudaLaunchKernel": 4, "cudaMemcpyAsync": 2, "cudaMemsetAsync": 1,
              "cudaStreamSynchronize": 2}


def folder(version):
    path = os.path.join(prof.BUILD, "fake", f"run-{version}")
    if not os.path.isdir(path):
        raise AssertionError(f"no fake CUDA {version}, {path}: make fake")
    return path


def library(version, name):
    found = sorted(glob.glob(os.path.join(folder(version), f"lib{name}.so.*")))
    if not found:
        raise AssertionError(f"no lib{name} in the fake CUDA {version}")
    return found[0]


def environment(version, **fake):
    """KERNEL_NS=5 -> FAKE_KERNEL_NS=5"""
    path = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": folder(version) + (f":{path}" if path else ""),
            "CUDART": library(version, "cudart"), "CUPTI": library(version, "cupti"),
            **{f"FAKE_{key}": str(value) for key, value in fake.items()}}


def run(version, mode, count, logdir, fake=None, program="cuda_work", **given):
    """cuda_work under the launcher."""
    return prof.launch([prof.prog(program), mode, str(count)], logdir,
                       env=environment(version, **(fake or {})), **given)


def start(version, mode, count, logdir, fake=None, program="cuda_work", **given):
    """The same, while it runs."""
    words = [prof.LAUNCHER, "--logdir", logdir, *prof.options(**given), "--",
             prof.prog(program), mode, str(count)]
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True,
                            env={**os.environ, **environment(version, **(fake or {}))})


def without(version, mode, count, **fake):
    """The same without us: its status and its output."""
    process = prof.plain([prof.prog("cuda_work"), mode, str(count)],
                         env={**os.environ, **environment(version, **fake)})
    return process.returncode, process.stdout


@functools.lru_cache(None)
def example(version):
    """examples/cuda_train.c against the fake's runtime."""
    path = os.path.join(prof.BUILD, "prog", f"cuda_train-{version}")
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", path, "examples/cuda_train.c",
                    library(version, "cudart")], check=True)
    return path


@functools.lru_cache(None)
def extension(version):
    """progs/cuda_ext.cpp, compiled once, linked against this version's runtime."""
    source = os.path.join(prof.HERE, "progs", "cuda_ext.cpp")
    torch = glob.glob(os.path.join(prof.BUILD, "venv", "lib", "python3*", "site-packages", "torch"))
    if not torch:
        raise prof.Skip("no torch in the test environment")
    compiler = os.environ.get("CXX", "c++")
    os.makedirs(os.path.join(prof.BUILD, "prog"), exist_ok=True)
    with open(os.path.join(prof.BUILD, "prog", ".cuda_ext.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        compiled = os.path.join(prof.BUILD, "prog", "cuda_ext.o")
        if not os.path.exists(compiled) or os.path.getmtime(compiled) < os.path.getmtime(source):
            subprocess.run([compiler, "-std=c++20", "-O1", "-fPIC", f"-I{torch[0]}/include",
                            f"-I{torch[0]}/include/torch/csrc/api/include", "-c", "-o",
                            compiled, source], check=True)
        linked = os.path.join(prof.BUILD, "prog", f"cuda_ext-{version}.so")
        subprocess.run([compiler, "-shared", "-o", linked + ".new", compiled,
                        "-Wl,--no-as-needed", library(version, "cudart"), library(version, "nccl"),
                        f"-L{torch[0]}/lib", "-ltorch_cpu", "-lc10"], check=True)
        os.replace(linked + ".new", linked)
    return linked


def of(trace, *kinds):
    return [e for e in trace.slices if e["cat"] in kinds]


def counts(trace, kinds=WORK):
    found = collections.Counter(e["cat"] for e in of(trace, *kinds))
    return {kind: found[kind] for kind in kinds}


def calls(trace):
    return dict(collections.Counter(e["name"] for e in of(trace, *CALLS)))


def times(number, table):
    return {key: number * value for key, value in table.items()}


def gpu_facts(trace):
    """What our trace says of its GPU part."""
    return trace.facts.get("cuda") or {}


def arrows(trace):
    """id -> {"s": [events], "f": [events]} of the arrows from call to GPU."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for event in trace.raw["traceEvents"]:
        if event["ph"] in "sf" and event["cat"] in ("ac2g", "async_cpu_to_gpu"):
            found[event["id"]][event["ph"]].append(event)
    return found


def ns(value):
    return round(value * 1000)


def inside(inner, outer):
    return ns(outer["ts"]) <= ns(inner["ts"]) and \
        ns(inner["ts"]) + ns(inner["dur"]) <= ns(outer["ts"]) + ns(outer["dur"])


def whole(trace, *, unmatched=0, early=False):
    """What every trace owes: rows, joins and arrows of all GPU work."""
    by_correlation = {}
    for call in of(trace, *CALLS):
        number = call["args"]["correlation"]
        assert number > 0 and number not in by_correlation, call
        assert isinstance(call["args"]["cbid"], int), call
        assert call["pid"] == trace.pid, call
        assert not re.search(r"_v\d{4,}$", call["name"]), call
        by_correlation[number] = call
    devices = {d["id"] for d in trace.raw["deviceProperties"]}
    drawn = arrows(trace)
    lonely = 0
    for work in of(trace, *WORK):
        args = work["args"]
        if "fromDevice" not in args:
            assert args["device"] == work["pid"] and args["device"] in devices, work
        assert work["tid"] % 1000000 == args["stream"] % 1000000 or \
            work["tid"] != args["stream"], work
        call = by_correlation.get(args["correlation"])
        if call is None:
            lonely += 1
            continue
        assert early or work["ts"] >= call["ts"], (work, call)
        assert args.get("External id") == call["args"].get("External id"), (work, call)
        ends = drawn[args["correlation"]]
        assert len(ends["s"]) == 1 and ends["f"], (work, dict(ends))
        assert (ends["s"][0]["tid"], ends["s"][0]["ts"]) == (call["tid"], call["ts"]), call
        assert early or any((end["pid"], end["tid"]) == (work["pid"], work["tid"])
                            for end in ends["f"]), (work, dict(ends))
        shape(work)
    assert lonely == unmatched, (lonely, unmatched)
    owners(trace)


def shape(work):
    """The arguments that readers look for."""
    args = work["args"]
    if work["cat"] == "kernel":
        for key in ("grid", "block"):
            assert len(args[key]) == 3 and all(n >= 1 for n in args[key]), work
        for key in ("registers per thread", "shared memory", "context", "stream"):
            assert isinstance(args[key], int), (key, work)
        for key in ("blocks per SM", "warps per SM", "est. achieved occupancy %"):
            assert key not in args or isinstance(args[key], (int, float)), (key, work)
    else:
        assert args["bytes"] > 0, work
        if work["dur"] > 0:
            wanted = args["bytes"] / ns(work["dur"])
            assert abs(args["memory bandwidth (GB/s)"] - wanted) <= 1e-3 * wanted + 1e-3, work


def owners(trace):
    """External id: the innermost operator around the call, else the annotation."""
    rows = collections.defaultdict(list)
    for host in of(trace, *HOSTS):
        rows[host["tid"]].append(host)
    for call in of(trace, *CALLS):
        around = [h for h in rows[call["tid"]] if inside(call, h)]
        steps = [h for h in around if h["name"].startswith("ProfilerStep#")]
        around = [h for h in around if h["cat"] == "cpu_op"] or \
            [h for h in around if h not in steps]
        got = call["args"].get("External id")
        if around:
            wanted = max(around, key=lambda h: (ns(h["ts"]), -ns(h["dur"])))
            assert got == wanted["args"]["External id"], (call, wanted)
        else:
            assert not got or got in [h["args"]["External id"] for h in steps], call
