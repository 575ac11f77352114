# SPDX-License-Identifier: Apache-2.0
"""Beginnings, ends and neighbours: disabling, leaving, other tools, MPS (cupti.md, 8)."""
import collections
import glob
import json
import os
import shutil
import subprocess
import tempfile
import time

from common import BUILD, LAUNCHER, Run, Site, Skip, bare, bare_report, built, check, expect
from common import last_json, median, on_cudart, output, quick, work

KERNEL, RUNTIME = "10", "5"
CATEGORIES = {10: "kernel", 1: "gpu_memcpy", 2: "gpu_memset", 5: "cuda_runtime", 4: "cuda_driver"}


def client(*words):
    if not Site.cupti:
        raise Skip("no libcupti")
    return [on_cudart("client", "client.c", Site.cupti, "-Wl,-rpath," + os.path.dirname(Site.cupti)),
            *map(str, words)]


@check("tee", "a program's own CUPTI profiler beside us: the same records, to the nanosecond")
def tee():
    path, found = os.path.join(Site.out, "client.txt"), {}
    run = Run("tee_client", client("records", 20, path), marker="none")
    trace = run.only(exact=True)
    ours = {(e["cat"], e["args"]["correlation"]): e["ns"] for e in trace.of(*CATEGORIES.values())}
    off, missing = [], collections.Counter()
    with open(path, encoding="utf-8") as file:
        for kind, number, begin, end in (map(int, line.split()) for line in file):
            mine = ours.get((CATEGORIES[kind], number))
            if mine:
                off += [mine[0] - begin, mine[1] - end]
            else:
                missing[CATEGORIES[kind]] += 1
    # Calls that we do not ask for are the client's alone: not one that launched something.
    found["only the client has"] = dict(missing)
    found["records of both"] = len(off) // 2
    expect(off and not set(missing) & {"kernel", "gpu_memcpy", "gpu_memset"}, f"tee: {found}")
    expect(run.json()["error"] == 0, f"tee: the client's calls: {run.json()}")
    constant = median(off) or 0
    spread = max((abs(one - constant) for one in off), default=0)
    found["our clock less CUPTI's, ns"] = constant
    found["times differ beside that, ns, at most"] = spread
    found["facts"] = trace.facts.get("cuda")
    expect(spread <= 2, f"tee: times differ by up to {spread} ns beside the constant {constant}")
    return found


@check("subscriber", "8.12: the program itself subscribes: as without us, and ours goes on", apart=True)
def subscriber():
    alone = last_json(output(client("subscriber", 10)).stdout)
    run = Run("subscriber", client("subscriber", 10), marker="none")
    beside, trace = run.json(), run.only()
    expect(beside == alone, f"subscriber: {beside} instead of {alone}")
    expect(len(trace.of("kernel")) >= 30, f"subscriber: ours has {trace.counts()}")
    return {"alone": alone, "under us": beside, "ours": trace.counts()}


@check("agents", "8.12: two agents of ours in one program: one records, the other says why not", apart=True)
def agents():
    folder = os.path.join(Site.out, "traces", "inner")
    shutil.rmtree(folder, ignore_errors=True)
    run = Run("outer", [LAUNCHER, "--logdir", folder, "--marker", "none", "--", work(), "train", "10"],
              marker="none")
    inner = glob.glob(os.path.join(folder, "*.pt.trace.json*"))
    expect(run.json()["steps"] == 10, "agents: the program's own output is another")
    expect(len(run.paths) + len(inner) == 1, f"agents: {len(run.paths)} outer, {len(inner)} inner traces")
    return {"outer": len(run.paths), "inner": len(inner), "said": run.done.stderr.splitlines()}


@check("foreign", "8.12: another tool has the injection variable and has subscribed")
def foreign():
    environment = bare("launches")
    run = Run("foreign", [work(), "train", "10"], env=environment, schedule="wait=2,active=2,repeat=1")
    said = [line for line in run.done.stderr.splitlines() if "CUPTI" in line or "GPU" in line]
    theirs = bare_report()["records"]
    expect(theirs.get(KERNEL, 0) >= 30, f"foreign: the other tool saw {theirs}")
    expect(said, "foreign: nobody says why there is no GPU in our trace")
    return {"the other tool saw": theirs, "we say": said, "we have": [t.counts() for t in run.traces()]}


@check("nsys", "8.12: under nsys: the program runs, and one of both records")
def nsys():
    program = shutil.which("nsys") or Skip.now("no nsys")
    done = output([program, "profile", "-o", os.path.join(Site.out, "nsys"), "-f", "true",
                   LAUNCHER, "--logdir", os.path.join(Site.out, "traces", "nsys"), "--",
                   work(), "train", "10"], fail=False)
    expect(done.returncode == 0, f"nsys: exit {done.returncode}")
    return {"we say": [line for line in done.stderr.splitlines() if "proflaunch" in line]}


@check("dcgm", "8.12: while DCGM counts")
def dcgm():
    program = shutil.which("dcgmi") or Skip.now("no dcgmi")
    reader = subprocess.Popen([program, "dmon", "-e", "1002,1003", "-d", "200"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        if reader.poll() is not None:
            raise Skip("dcgmi dmon does not run here: no host engine, or not allowed")
        trace = Run("dcgm", [work(), "train", "20"], marker="none").only()
    finally:
        reader.kill()
        reader.wait()
    expect(len(trace.of("kernel")) >= 60, f"dcgm: {trace.counts()}")
    return {"ours": trace.counts()}


@check("mig", "8.12: on an instance of a divided GPU (MIG)")
def mig():
    if not shutil.which("nvidia-smi"):
        raise Skip("no nvidia-smi to ask whether this is one")
    listed = output(["nvidia-smi", "-L"], fail=False).stdout
    if "MIG " not in listed:
        raise Skip("this GPU is not divided; to divide it would be to change the machine")
    trace = Run("mig", [work(), "train", "20"], marker="none").only()
    expect(len(trace.of("kernel")) >= 60, f"mig: {trace.counts()}")
    return {"ours": trace.counts(), "devices": trace.raw.get("deviceProperties")}


@check("rights", "8.12: without rights: another user, no capabilities, as in a bare container")
def rights():
    if os.geteuid() != 0:
        raise Skip("not root: all other checks ran without rights")
    setpriv = shutil.which("setpriv") or Skip.now("no setpriv (util-linux)")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        for path in (work(), LAUNCHER, os.path.join(BUILD, "libproflaunch.so")):
            shutil.copy(path, folder)
        command = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all",
                   "--no-new-privs", "--"]
        alone = output([*command, os.path.join(folder, "work"), "train", "5"], fail=False)
        if alone.returncode:
            raise Skip(f"nobody may not use the GPU here: {alone.stderr.strip()[-200:]}")
        done = output([*command, os.path.join(folder, "proflaunch"), "--logdir", folder, "--marker", "none",
                       "--", os.path.join(folder, "work"), "train", "5"], fail=False)
        found = len(glob.glob(os.path.join(folder, "*.pt.trace.json*")))
    expect(done.stdout == alone.stdout and (found or "GPU" in done.stderr), f"rights: {done.stderr[-500:]}")
    return {"traces": found, "said": done.stderr.splitlines()}


def mps_daemon(pipes):
    """A control daemon of our own, in the foreground, so that we can end it."""
    daemon = shutil.which("nvidia-cuda-mps-control") or Skip.now("no nvidia-cuda-mps-control")
    if glob.glob(os.path.join(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"), "control*")):
        raise Skip("an MPS control daemon runs already: it is somebody's")
    env = {**os.environ, "CUDA_MPS_PIPE_DIRECTORY": pipes, "CUDA_MPS_LOG_DIRECTORY": pipes}
    control = subprocess.Popen([daemon, "-f"], env=env, stdin=subprocess.DEVNULL, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for _ in range(50):
        if os.path.exists(os.path.join(pipes, "control")) or control.poll() is not None:
            break
        time.sleep(0.1)
    if control.poll() is not None:
        raise Skip(f"the MPS daemon ends at once: {control.stdout.read()[-300:]}")
    return daemon, control, env


@check("mps", "under an MPS control daemon of our own")
def mps():
    with tempfile.TemporaryDirectory() as pipes:
        daemon, control, env = mps_daemon(pipes)
        try:
            alone = output([work(), "train", "5"], env=env, fail=False, timeout=30)
            if alone.returncode:
                raise Skip(f"nothing runs under MPS here: {alone.stderr.strip()[-200:]}")
            run = Run("mps", [work(), "train", "20"], env=env, marker="none", timeout=60)
            trace = run.only() if run.paths else None
        finally:
            try:
                subprocess.run([daemon], input="quit -t 2\n", text=True, env=env, check=False, timeout=20,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                control.wait(5)
            except subprocess.TimeoutExpired:
                control.kill()
                control.wait()
    expect(run.json()["steps"] == 20, "mps: the program's own output is another")
    kernels = len(trace.of("kernel")) if trace else 0
    expect(kernels >= 60 or "MPS" in run.done.stderr, f"mps: {kernels} of 60 kernels and no word of it")
    return {"counts": trace.counts() if trace else {}, "said": run.done.stderr.splitlines(),
            "facts": json.dumps(trace.facts.get("cuda")) if trace else None}


@check("disable", "8.14: CONCURRENT_KERNEL disabled under load, by bare CUPTI and by us")
def disable():
    """Windows open and close: nothing may be lost, nothing may end the program."""
    result = {}
    for after in (200, 350, 500):
        done = output([work(), "busy", "1000", "4"], env=bare("launches", after="off", ms=after), fail=False)
        expect(done.returncode == 0, f"disable after {after} ms: exit status {done.returncode}")
        if done.returncode:
            continue
        report, launched = bare_report(), last_json(done.stdout)["launched"]
        kernels, calls = (report["records"].get(kind, 0) for kind in (KERNEL, RUNTIME))
        result[f"off after {after} ms"] = {"launched": launched, "kernels": kernels, "calls": calls,
                                           "zero times": report["zero"], "dropped": report["dropped"]}
        expect(0 < kernels < 0.9 * launched, f"disable: {kernels} of {launched} kernels: not disabled")
        expect(0 < calls < 0.95 * launched, f"disable: {calls} calls of {launched} launches: still on")
    run = Run("many_windows", [work(), "launch", str(quick(5000)), "20"], schedule="active=1,wait=1")
    counts = [len(trace.of("kernel")) for trace in run.traces()]
    rounds = run.json()["rounds"]
    expect(counts and set(counts[1:-1]) <= {quick(5000)}, f"disable: kernels of the windows {counts}")
    result["ours"] = {"kernels in each window": counts,
                      "ns per launch, windows on and off": [median(rounds[0::2]), median(rounds[1::2])]}
    return result


def ends(result, program, name, ways):
    """How a program may end, and what we have of it then."""
    launched = quick(5000)
    for how, way in ways:
        run = Run(f"exit_{name}_{way.replace(' ', '_')}", [program, "leave", str(launched), str(how)],
                  marker="none", fail=False)
        found = len(run.traces()[0].of("kernel")) if run.paths else 0
        result[f"{name}, {way}"] = f"{found} of {launched + 1} kernels, exit {run.done.returncode}"
        # abort() and a program that does not wait for its GPU: what CUPTI held is lost.
        must = how < 4
        expect(not must or found >= launched, f"exits, {name}, {way}: {found} of {launched + 1} kernels")


WAYS = [(0, "return"), (1, "exit"), (2, "_exit"), (3, "cudaDeviceReset"), (4, "abort"),
        (10, "return at once"), (12, "_exit at once")]


@check("exits", "8.7: return, exit, _exit, cudaDeviceReset, abort, with both kinds of cudart; Python's ends", apart=True)
def exits():
    result = {}
    ends(result, work(), "dynamic", WAYS)
    if Site.static and not Site.fake:
        program = built("work_static", "work.c", Site.static, "-ldl", "-lrt", "-pthread")
        ends(result, program, "static", WAYS[:4])
    else:
        result["static"] = "the real runtime does not run on the fake driver" if Site.fake else \
            "not tried: no libcudart_static.a (a toolkit has it)"
    code = ("import os, sys, torch\nx = torch.ones(1, device='cuda')\n"
            "for _ in range(1000): x.add_(1)\ntorch.cuda.synchronize()\n")
    for ending in ("sys.exit(0)", "os._exit(0)", "raise KeyError"):
        if not Site.torch.get("cuda"):
            result[ending] = "not tried: " + Site.torch["why"]
            continue
        run = Run("exit_python", [Site.python, "-c", code + ending], marker="none", fail=False)
        result[ending] = len(run.traces()[0].of("kernel")) if run.paths else 0
        expect(result[ending] >= 1000, f"exits, {ending}: {result[ending]} of 1001 kernels")
    return result


def growth(said):
    """Of `graph_long`: us per launch and what is left of the GPU's memory, round by round."""
    us, free = zip(*said["rounds"])
    return {"us per launch, first and last rounds": [median(us[:3]), median(us[-3:])],
            "MiB taken: at first, at the end": [round(said["free MiB before"] - free[0], 1),
                                                round(said["free MiB before"] - free[-1], 1)]}


@check("graph_long", "8.6: ten million graph nodes: zero times, drops, growth of GPU memory while it runs")
def graph_long():
    launches, rounds, result = quick(1000), 10, {}
    alone = last_json(output([work(), "graph_long", str(max(1, launches // 10)), str(rounds)]).stdout)
    result["alone"] = growth(alone)
    done = output([work(), "graph_long", str(launches), str(rounds)], env=bare("kernel"), timeout=240)
    report, nodes = bare_report(), 1000 * (launches * rounds + 1)
    kernels = report["records"].get(KERNEL, 0)
    result["bare"] = {"nodes": nodes, "kernels": kernels, **growth(last_json(done.stdout)),
                      **{key: report[key] for key in ("zero", "dropped", "buffers", "asked")}}
    expect(kernels + report["dropped"] >= nodes, f"graph_long: {kernels} of {nodes} kernels")
    expect(report["zero"] == 0, f"graph_long: {report['zero']} kernels without times")
    # Ours: a window of 100 launches behind 900.
    small = max(1, launches // 10)
    run = Run("graph_long", [work(), "graph_long", str(small), "12"], timeout=240,
              schedule="wait=10,active=1,repeat=1")
    trace = run.only()
    found = len(trace.of("kernel"))
    result["ours"] = {**growth(run.json()), "kernels": found, "facts": trace.facts.get("cuda")}
    expect(found == 1000 * small, f"graph_long: ours has {found} of {1000 * small} kernels")
    return result
