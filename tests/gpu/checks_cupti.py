# SPDX-License-Identifier: Apache-2.0
"""CUPTI's records, on this GPU and driver: what its documents leave open (cupti.md, 8)."""
import collections
import concurrent.futures
import os
import re
import shutil
import struct

import assumptions
from common import HERE, LAUNCHER, Run, Site, Skip, bare_report, check, expect
from common import last_json, output, quick, quietly, work

KERNEL, DRIVER, RUNTIME = "10", "4", "5"
# A program that does something of everything gives at least these.
SURE = {1, 2, 5, 8, 9, 10, 36, 38, 39, 49}


def buffers():
    """(who asked, when, when it came back, whether that thread had ended), bytes"""
    for at, facts in enumerate(bare_report()["saved"]):
        path = os.path.join(Site.out, f"bare.json.{at}")
        with open(path, "rb") as file:
            yield facts, file.read()
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


def number(record, at):
    return struct.unpack_from("<I", record, at)[0]


@check("doctor", "what proflaunch doctor says of this machine")
def doctor():
    done = output([LAUNCHER, "doctor", "--", work(), "train", "1"], fail=False)
    expect("CUPTI" in done.stdout + done.stderr, "doctor does not name CUPTI")
    return {"says": (done.stdout + done.stderr).strip().splitlines()}


@check("assumed", "what the fake GPU takes for true (tests/fake/ASSUMPTIONS), on this one")
def assumed():
    if not Site.cudart or not Site.cupti:
        raise Skip("no libcudart or no libcupti")
    program, environment = assumptions.program()
    mine = sorted(assumptions.checked(), key=int)

    def ask(numbers):
        return last_json(output([program, *numbers], env=environment, fail=False).stdout)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        halves = list(pool.map(ask, (mine[0::2], mine[1::2])))
    said = {number: text for half in halves for number, text in half.items()}
    # Two at once may disturb each other: the last word is said alone.
    again = [number for number in mine if said.get(number, "otherwise").startswith("otherwise")]
    said.update(ask(again) if again else {})
    for one, text in said.items():
        expect(not text.startswith("otherwise"), f"assumption {one}: {text}")
    for one in assumptions.numbers() - set(said):
        expect(False, f"assumption {one}: nobody looked")
    return said


def every_kind(path):
    """One library: what came of each kind, walked to the end; {kind: how many}, report."""
    seen, first = collections.Counter(), None
    for kinds in ("all", "others"):
        report = quietly(kinds, "all", 5, env={"BARE_CUPTI": path}, bytes=16)
        first = first or report
        for _, data in buffers():
            seen.update(kind for kind, _ in walk(data, report["strides"]))
    return seen, first


@check("strides", "8.1: strides probed from each library walk its own buffers, of every kind")
def strides():
    if not Site.cupti:
        raise Skip("no libcupti")
    mine = re.search(r"\.so\.(\d+)", Site.cupti)[1]
    result, known = {}, {}
    for major, path in Site.cuptis:
        if str(major) != mine:
            continue
        seen, report = every_kind(path)
        known[os.path.realpath(path)] = report["strides"]
        result[path] = {"version": report["version"], "records by kind": dict(sorted(seen.items())),
                        "refused kinds": report["results"], "strides": report["strides"],
                        "none came of": [int(kind) for kind in report["strides"]
                                         if int(kind) not in seen and kind not in report["results"]]}
        if path == Site.cupti:
            expect(SURE <= set(seen), f"strides: no record of kinds {sorted(SURE - set(seen))}")
    result["ours"] = ours = Run("strides", [work(), "train", "5"], marker="none").only().facts["facts"]["cuda"]
    theirs = known.get(os.path.realpath(ours.get("file", "")), {})
    expect(ours.get("strides") == "probed", f"strides: ours are {ours.get('strides')!r}, not probed")
    expect(ours.get("kernel_bytes") == theirs.get(KERNEL),
           f"strides: kernel {ours.get('kernel_bytes')} bytes, {ours.get('file')} says {theirs.get(KERNEL)}")
    return result


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
        raise Skip("no nvcc: apt-get install nvidia-cuda-toolkit, or NVIDIA's own")
    if Site.fake:
        raise Skip("nvcc's runtime does not run on the fake driver")
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


def holders():
    """Who holds which records: {what: how many}."""
    found, strides_now = collections.Counter(), bare_report()["strides"]
    for (asked_by, asked, back, ended), data in buffers():
        calls, kernels, threads = set(), [], set()
        for kind, record in walk(data, strides_now):
            if kind == 5:
                calls.add(number(record, 32))
                threads.add(number(record, 28))
            elif kind == 10:
                kernels.append(number(record, 92))
        found["buffers"] += 1
        found["kernels"] += len(kernels)
        found["kernels beside their call"] += sum(one in calls for one in kernels)
        found["with calls of the asking thread only"] += threads == {asked_by}
        found["with calls of several threads"] += len(threads) > 1
        found["back after their thread had ended"] += ended
        if ended:
            found["ms from asking to coming back, at most"] = max(
                back - asked, found["ms from asking to coming back, at most"])
    return dict(found)


@check("thread_buffers", "8.9: buffers of 64 launching threads: who holds what, when those that ended give back")
def thread_buffers():
    each, result = quick(2000), {}
    for name, more in (("five flushes a second", {}), ("no flush", {"flush": 0})):
        report = quietly("launches", "threads", each, 64, bytes=200, **more)
        result[name] = {key: report[key] for key in
                        ("asked", "buffers", "each", "before the end", "after its thread", "dropped")}
        result[name]["kernels"] = report["records"].get(KERNEL, 0)
        result[name].update(holders())
        # Without flushes what is not full comes at the end, if the end comes before CUDA's.
        expect(more or report["records"].get(KERNEL, 0) >= 64 * each,
               f"thread_buffers, {name}: {report['records']} of {64 * each} kernels")
    trace = Run("threads", [work(), "threads", str(each), "64"], marker="none",
                cuda_buffer_mb=256).only()
    links = trace.linked()
    expect(links["with its call"] >= 64 * each, f"thread_buffers: {links}")
    result["ours"] = {**links, "threads with calls": len({e["tid"] for e in trace.of("cuda_runtime")})}
    return result


def fields():
    """kind -> {(offset, width): field}, of our own tables: those that are read."""
    kinds, found = {}, collections.defaultdict(dict)
    path = os.path.join(HERE, "..", "..", "agent", "cupti", "lib", "layouts.def")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for kind, name in re.findall(r"^STRIDES\((\d+), (\w+),", text, re.M):
        kinds[name] = int(kind)
    for name, field, offset, width in re.findall(r"^FIELD\((\w+), (\w+), (\d+), (\d+)\)", text, re.M):
        found[kinds[name]][int(offset), int(width)] = field
    return found


@check("dirty", "8.10: bytes that CUPTI leaves as they were in buffers said to be clean")
def dirty():
    report = quietly("all", "all", 10, bytes=16, dirty=1)
    untouched, records = {}, collections.Counter()
    for _, data in buffers():
        for kind, record in walk(data, report["strides"]):
            places = {at for at, byte in enumerate(record) if byte == 0xA5}
            untouched[kind] = untouched[kind] & places if kind in untouched else places
            records[kind] += 1
    known = fields()
    read = {kind: sorted(name for (at, width), name in known[kind].items()
                         if set(range(at, at + width)) <= places)
            for kind, places in untouched.items() if records[kind] > 2}
    return {"bytes": {kind: sorted(places) for kind, places in untouched.items()},
            "fields of ours among them": {kind: names for kind, names in read.items() if names}}


@check("majors", "8.13: a CUPTI of another major than the runtime: share of zero times")
def majors():
    mine = re.search(r"\.so\.(\d+)", Site.cupti or "") or Skip.now("no libcupti")
    others = [path for major, path in Site.cuptis if str(major) != mine[1]]
    if not others:
        raise Skip("CUPTI of one major only here")
    result = {}
    for path in others[:2]:
        report = quietly("launches", "launch", 5000, 2, env={"BARE_CUPTI": path})
        result[path] = {key: report[key] for key in ("version", "zero", "dropped", "records", "results")}
        kernels = report["records"].get(KERNEL, 0)
        result[path]["share of zero times"] = round(report["zero"] / kernels, 3) if kernels else None
    return result
