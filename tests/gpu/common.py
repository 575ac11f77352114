# SPDX-License-Identifier: Apache-2.0
"""What the checks on a GPU share: the list of them, how programs are run, what was found.

A check is a function with @check; it returns {name: value} of what it saw and asserts
what must hold.  expect() notes a claim that did not hold and goes on.
"""
import collections
import ctypes
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import time

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
LAUNCHER = os.path.join(BUILD, "proflaunch")
AGENT = os.path.join(BUILD, "libproflaunch.so")
HERE = os.path.dirname(os.path.abspath(__file__))
CHECKS = {}


class Skip(Exception):
    pass


class Site:
    """This run: where results go, which python has torch, which libraries there are."""

    out = python = cudart = cupti = None
    mps = False
    torch = {}
    failures = []
    log = None


def check(name, what):
    def add(function):
        CHECKS[name] = (what, function)
        return function
    return add


def expect(truth, text):
    if not truth:
        Site.failures.append(text)
    return truth


def say(text):
    print(text, flush=True)
    if Site.log:
        Site.log.write(text + "\n")
        Site.log.flush()


def output(command, *, env=None, timeout=300, fail=True):
    """Standard output of a command; both its outputs go to the log."""
    begin = time.monotonic()
    done = subprocess.run(command, env={**os.environ, **(env or {})}, timeout=timeout, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          errors="replace")
    if Site.log:
        shown = " ".join(f"{k}={v}" for k, v in (env or {}).items())
        Site.log.write(f"$ {shown} {' '.join(command)}\n[{done.returncode}, "
                       f"{time.monotonic() - begin:.1f} s] {done.stdout[-4000:]}"
                       f"{done.stderr[-4000:]}\n")
    if fail and done.returncode:
        raise AssertionError(f"{command}: exit {done.returncode}: {done.stderr[-1500:]}")
    return done


def last_json(text):
    lines = text.strip().splitlines()
    for at in reversed(range(len(lines))):
        if lines[at].startswith(("{", "[")):
            return json.loads("\n".join(lines[at:]))
    raise AssertionError(f"no JSON in {text[-500:]!r}")


def libraries():
    """Folders where CUDA's libraries may lie: those asked for, then torch's."""
    found = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    if Site.torch.get("folder"):
        site = os.path.dirname(Site.torch["folder"])
        found += glob.glob(os.path.join(site, "nvidia", "*", "lib"))
        found.append(os.path.join(Site.torch["folder"], "lib"))
    found += ["/usr/local/cuda/lib64", *glob.glob("/usr/local/cuda*/targets/*/lib"),
              *glob.glob("/usr/lib/*-linux-gnu"), "/usr/lib64"]
    return [folder for folder in found if os.path.isdir(folder)]


def find_library(name):
    for folder in libraries():
        for path in sorted(glob.glob(os.path.join(folder, f"lib{name}.so.*")), key=len):
            return path
    return None


def built(name, source, *flags):
    """A program or library of ours, compiled here; kept where no compiler is."""
    path = os.path.join(BUILD, "gpu", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        if os.path.exists(path):
            return path
        raise Skip(f"no C compiler, and no {path}")
    output([compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-I.", "-o", path + ".new", source,
            *flags])
    os.replace(path + ".new", path)
    return path


def work():
    """tests/gpu/work.c against the runtime that torch uses, else the toolkit's."""
    if not Site.cudart:
        raise Skip("no libcudart")
    return built("work", os.path.join(HERE, "work.c"), Site.cudart, "-ldl", "-pthread",
                 "-Wl,-rpath," + os.path.dirname(Site.cudart))


def bare(kinds, **more):
    """The environment in which CUPTI records `kinds` and throws them away."""
    library = built("bare.so", os.path.join(HERE, "bare.c"), "-shared", "-fPIC", "-ldl", "-pthread")
    if not Site.cupti:
        raise Skip("no libcupti")
    path = os.path.join(Site.out, "bare.json")
    if os.path.exists(path):
        os.unlink(path)
    return {"CUDA_INJECTION64_PATH": library, "BARE": kinds, "BARE_CUPTI": Site.cupti,
            "BARE_OUT": path, **{f"BARE_{k.upper()}": str(v) for k, v in more.items()}}


def bare_report():
    with open(os.path.join(Site.out, "bare.json"), encoding="utf-8") as file:
        return json.load(file)


class Run:
    """A command under the launcher, and its traces."""

    def __init__(self, name, command, *, env=None, timeout=300, fail=True, **options):
        self.folder = os.path.join(Site.out, "traces", name)
        shutil.rmtree(self.folder, ignore_errors=True)
        words = [LAUNCHER, "--logdir", self.folder]
        for key, value in {"format": "json.gz", **options}.items():
            words += ["--" + key.replace("_", "-"), str(value)]
        self.done = output([*words, "--", *command], env=env, timeout=timeout, fail=fail)
        self.paths = sorted(glob.glob(os.path.join(self.folder, "*.pt.trace.json*")),
                            key=lambda p: re.search(r"\.(\d{19})\.", p)[1])

    def traces(self):
        return [Trace(path) for path in self.paths]

    def only(self):
        assert len(self.paths) == 1, (self.paths, self.done.stderr[-1500:])
        return Trace(self.paths[0])

    def json(self):
        return last_json(self.done.stdout)


class Trace:
    def __init__(self, path):
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
            self.raw = json.load(file, strict=False)
        self.path = path
        self.base = self.raw.get("baseTimeNanoseconds", 0)
        self.slices = [e for e in self.raw["traceEvents"] if e["ph"] == "X" and e["cat"] != "Trace"]
        self.slices.sort(key=lambda e: (e["ts"], -e["dur"]))
        self.facts = self.raw.get("proflaunch", {})

    def of(self, *kinds):
        return [e for e in self.slices if e["cat"] in kinds]

    def counts(self):
        return dict(collections.Counter(e["cat"] for e in self.slices))

    def names(self, *kinds):
        return dict(collections.Counter(e["name"] for e in self.of(*kinds)))

    def linked(self):
        """How many pieces of GPU work have their call, and how many their operator."""
        calls = {e["args"]["correlation"] for e in self.of("cuda_runtime", "cuda_driver")}
        gpu = self.of("kernel", "gpu_memcpy", "gpu_memset")
        return {"gpu work": len(gpu),
                "with its call": sum(e["args"]["correlation"] in calls for e in gpu),
                "with an operator": sum(bool(e["args"].get("External id")) for e in gpu)}


def torch_work(*words):
    if not Site.torch.get("cuda"):
        raise Skip(Site.torch.get("why", "no torch with CUDA"))
    return [Site.python, os.path.join(HERE, "torch_work.py"), *map(str, words)]


def driver_version():
    version = ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    return version.value


def quick(number):
    """So many; fewer where only the scripts themselves are tried (GPU_QUICK=20: a 20th)."""
    return max(1, number // int(os.environ.get("GPU_QUICK", "1")))


def median(values):
    values = sorted(values)
    return values[len(values) // 2] if values else None


def learn_site(python):
    """Fills in what torch says of itself and where the libraries lie."""
    Site.python = python or sys.executable
    code = ("import json, os, torch; c = torch.cuda.is_available(); print(json.dumps({"
            "'version': torch.__version__, 'built for': torch.version.cuda, 'cuda': c,"
            "'folder': os.path.dirname(torch.__file__),"
            "'gpus': [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]"
            " if c else []}))")
    done = output([Site.python, "-c", code], fail=False)
    Site.torch = last_json(done.stdout) if done.returncode == 0 else \
        {"cuda": False, "why": f"{Site.python} has no torch"}
    if not Site.torch.get("cuda"):
        Site.torch.setdefault("why", "torch sees no CUDA")
    Site.cudart, Site.cupti = find_library("cudart"), find_library("cupti")
