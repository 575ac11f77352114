# SPDX-License-Identifier: Apache-2.0
"""CUPTI itself, on this GPU and driver: what its documents leave open (cupti.md, 8)."""
import glob
import os
import shutil
import struct

from common import LAUNCHER, Run, Site, Skip, bare, bare_report, built, check, expect
from common import last_json, libraries, median, output, quick, work

KERNEL, DRIVER, RUNTIME = "10", "4", "5"


def quietly(kinds, *words, env=None, **more):
    """work under bare CUPTI; what it recorded."""
    output([work(), *map(str, words)], env={**bare(kinds, **more), **(env or {})})
    return bare_report()


def buffers():
    for path in sorted(glob.glob(os.path.join(Site.out, "bare.json.*"))):
        with open(path, "rb") as file:
            yield file.read()
        os.unlink(path)


def walk(data, strides):
    """(kind, bytes) of each record; says where it stops."""
    at = 0
    while at + 4 <= len(data):
        (kind,) = struct.unpack_from("<I", data, at)
        size = strides.get(str(kind))
        if not size:
            expect(False, f"a record of kind {kind} at {at} of {len(data)}: no stride")
            return
        yield kind, data[at:at + size]
        at += size
    expect(at == len(data), f"the last record ends at {at} of {len(data)}")


@check("doctor", "what proflaunch doctor says of this machine")
def doctor():
    done = output([LAUNCHER, "doctor", "--", work(), "train", "1"], fail=False)
    expect("CUPTI" in done.stdout + done.stderr, "doctor does not name CUPTI")
    return {"says": (done.stdout + done.stderr).strip().splitlines()}


@check("assumed", "what the fake GPU takes for true (tests/fake/ASSUMPTIONS), on this one")
def assumed():
    if not Site.cudart or not Site.cupti:
        raise Skip("no libcudart or no libcupti")
    program = built("assume", os.path.join("tests", "fake", "assume.c"), Site.cudart, "-rdynamic",
                    "-ldl", "-pthread", "-Wl,-rpath," + os.path.dirname(Site.cudart))
    said = last_json(output([program], env={"CUPTI": Site.cupti}, fail=False).stdout)
    for number, text in said.items():
        expect(not text.startswith("otherwise"), f"assumption {number}: {text}")
    return said


@check("strides", "8.1: strides probed from this library walk its own buffers to their end")
def strides():
    report = quietly("calls", "train", 50, bytes=1)
    seen = {}
    for data in buffers():
        for kind, _ in walk(data, report["strides"]):
            seen[kind] = seen.get(kind, 0) + 1
    expect(seen.get(10, 0) >= 100, f"strides: kernels in the saved buffers {seen}")
    return {"version": report["version"], "strides": report["strides"], "records": seen}


@check("nested", "8.4: does an allow-listed driver call show inside a runtime call; correlation ids")
def nested():
    result = {}
    for kinds in ("launches", "calls", "kernel"):
        report = quietly(kinds, "launch", 1000, 1)
        result[kinds] = {name: report["records"].get(kind, 0) for name, kind in
                         (("kernels", KERNEL), ("driver", DRIVER), ("runtime", RUNTIME))}
    run = Run("nested", [work(), "launch", "1000", "3"], schedule="wait=1,active=1,repeat=1")
    trace = run.only()
    result["ours"] = {**trace.names("cuda_runtime", "cuda_driver"), **trace.linked()}
    expect(trace.linked()["with its call"] == 1000, f"nested: {trace.linked()}")
    return result


@check("nvcc", "8.5: what nvcc's own launch stub shows as (cbid, name)")
def nvcc():
    compiler = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(compiler):
        raise Skip("no nvcc")
    source, program = (os.path.join(Site.out, name) for name in ("stub.cu", "stub"))
    with open(source, "w", encoding="utf-8") as file:
        file.write("__global__ void stub(int *p) { if (p) *p = 1; }\nint main() {\n"
                   "for (int i = 0; i < 100; i++) stub<<<1, 32>>>(nullptr);\n"
                   "return cudaDeviceSynchronize(); }\n")
    result = {}
    for cudart in ("shared", "static"):
        output([compiler, "-cudart", cudart, "-o", program, source])
        trace = Run(f"nvcc_{cudart}", [program], marker="none").only()
        calls = {(e["name"], e["args"]["cbid"]) for e in trace.of("cuda_runtime", "cuda_driver")
                 if "Launch" in e["name"]}
        result[cudart] = {"launches": sorted(map(str, calls)), **trace.linked()}
        expect(trace.linked()["with its call"] == 100, f"nvcc, {cudart}: {trace.linked()}")
    return result


@check("graph_long", "8.6: two million graph nodes: zero times, drops, growth of GPU memory")
def graph_long():
    def used():
        done = output(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
                      fail=False)
        return done.stdout.split()
    before = used()
    report = quietly("kernel", "graph", 1000, 2000)
    run = Run("graph_long", [work(), "graph", "1000", "2000"], marker="none", buffer_mb=1024)
    trace = run.only()
    kernels = len(trace.of("kernel"))
    facts = trace.facts.get("cuda")
    os.unlink(trace.path)
    return {"bare": {key: report[key] for key in ("zero", "dropped", "buffers", "asked")},
            "bare kernels": report["records"].get(KERNEL), "ours": kernels, "facts": facts,
            "memory before, after (MiB)": [before, used()]}


@check("exits", "8.7: return, exit, _exit, cudaDeviceReset, abort; Python's ends: what is kept")
def exits():
    result = {}
    for how, name in enumerate(("return", "exit", "_exit", "cudaDeviceReset", "abort")):
        run = Run(f"exit_{name}", [work(), "leave", "5000", str(how)], marker="none", fail=False)
        found = len(run.traces()[0].of("kernel")) if run.paths else 0
        result[name] = f"{found} of 5001 kernels"
        expect(found >= 5000 or how > 2, f"exits, {name}: {found} of 5001 kernels")
    code = ("import os, sys, torch\nx = torch.ones(1, device='cuda')\n"
            "for _ in range(1000): x.add_(1)\n")
    for ending in ("sys.exit(0)", "os._exit(0)", "raise KeyError"):
        if not Site.torch.get("cuda"):
            result[ending] = "no torch"
            continue
        run = Run("exit_python", [Site.python, "-c", code + ending], marker="none", fail=False)
        result[ending] = len(run.traces()[0].of("kernel")) if run.paths else 0
        expect(result[ending] >= 1000, f"exits, {ending}: {result[ending]} of 1001 kernels")
    return result


@check("clock", "8.8: CUPTI's clock less CLOCK_REALTIME at cuInit and at the end; ours in the trace")
def clock():
    report = quietly("launches", "launch", 2000, 3)
    run = Run("clock", [work(), "launch", "2000", "3"], schedule="wait=1,active=1,repeat=1")
    trace = run.only()
    early = sum(1 for kernel in trace.of("kernel")
                for call in [c for c in trace.of("cuda_runtime", "cuda_driver")
                             if c["args"]["correlation"] == kernel["args"]["correlation"]]
                if kernel["ts"] < call["ts"])
    (first, width), (last, other) = report["clock"]
    expect(abs(last - first) < 1_000_000, f"clock: it moved by {last - first} ns")
    return {"offset at cuInit": first, "give or take": width // 2, "offset at the end": last,
            "at the end give or take": other // 2, "kernels before their call": early,
            "facts": trace.facts.get("cuda"), "a step of the clock": "not tried: it is the machine's"}


@check("thread_buffers", "8.9: buffers asked for by 64 launching threads")
def thread_buffers():
    each = quick(2000)
    report = quietly("launches", "threads", each, 64)
    trace = Run("threads", [work(), "threads", str(each), "64"], marker="none",
                cuda_buffer_mb=256).only()
    links = trace.linked()
    expect(links["with its call"] >= 64 * each, f"thread_buffers: {links}")
    return {"asked": report["asked"], "came back": report["buffers"],
            "kernels": report["records"].get(KERNEL), "ours": links,
            "threads with calls": len({e["tid"] for e in trace.of("cuda_runtime")})}


@check("dirty", "8.10: bytes that CUPTI leaves as they were in buffers said to be clean")
def dirty():
    report = quietly("calls", "train", 20, bytes=1, dirty=1)
    untouched = {}
    for data in buffers():
        for kind, record in walk(data, report["strides"]):
            places = {at for at, byte in enumerate(record) if byte == 0xA5}
            untouched[kind] = untouched[kind] & places if kind in untouched else places
    return {kind: sorted(places) for kind, places in untouched.items()}


@check("foreign", "8.12: another tool has the injection variable, or has subscribed; nsys")
def foreign():
    environment = bare("launches")
    run = Run("foreign", [work(), "train", "10"], env=environment, schedule="wait=2,active=2,repeat=1")
    said = [line for line in run.done.stderr.splitlines() if "CUPTI" in line or "GPU" in line]
    theirs = bare_report()["records"]
    expect(theirs.get(KERNEL, 0) >= 30, f"foreign: the other tool saw {theirs}")
    result = {"the other tool saw": theirs, "we say": said,
              "we have": [t.counts() for t in run.traces()]}
    nsys = shutil.which("nsys")
    if nsys:
        done = output([nsys, "profile", "-o", os.path.join(Site.out, "nsys"), "-f", "true",
                       LAUNCHER, "--logdir", os.path.join(Site.out, "traces", "nsys"), "--",
                       work(), "train", "10"], fail=False)
        expect(done.returncode == 0, f"foreign: under nsys exit {done.returncode}")
        result["under nsys"] = [line for line in done.stderr.splitlines() if "proflaunch" in line]
    return result


@check("majors", "8.13: a CUPTI of another major than the runtime: share of zero times")
def majors():
    mine = os.path.basename(Site.cupti or "")
    others = [path for folder in libraries() for path in glob.glob(os.path.join(folder, "libcupti.so.1[0-9]"))
              if os.path.basename(path) != mine]
    if not others:
        raise Skip("only one CUPTI here")
    result = {}
    for path in others[:2]:
        report = quietly("launches", "launch", 5000, 2, env={"BARE_CUPTI": path})
        result[os.path.basename(path)] = {key: report[key] for key in
                                          ("version", "zero", "dropped", "records", "results")}
    return result


@check("disable", "8.14: CONCURRENT_KERNEL disabled under load")
def disable():
    result = {}
    for turn in range(quick(5)):
        done = output([work(), "launch", str(quick(50000)), "8"],
                      env=bare("launches", after="off", ms=300 + 100 * turn), fail=False)
        result[turn] = done.returncode
        expect(done.returncode == 0, f"disable: exit status {done.returncode}")
    rounds = last_json(Run("many_windows", [work(), "launch", str(quick(5000)), "20"],
                           schedule="active=1,wait=1").done.stdout)["rounds"]
    return {"exit statuses": result, "ns per launch, windows on and off": [median(rounds[0::2]),
                                                                          median(rounds[1::2])]}
