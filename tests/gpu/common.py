# SPDX-License-Identifier: Apache-2.0
"""What the checks on a GPU share: the list of them, how programs are run, what was found.

A check is a function with @check; it returns {name: value} of what it saw and asserts
what must hold.  expect() notes a claim that did not hold and goes on.
"""
import collections
import decimal
import functools
import glob
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
LAUNCHER = os.path.join(BUILD, "proflaunch")
AGENT = os.path.join(BUILD, "libproflaunch.so")
HERE = os.path.dirname(os.path.abspath(__file__))
CHECKS = {}


class Skip(Exception):
    @classmethod
    def now(cls, reason):
        raise cls(reason)


class Site:
    """This run: where results go, which python has torch, which libraries there are."""

    out = python = cudart = cupti = static = nccl = None
    fake = False  # tests/fake's: what it takes says nothing
    cuptis = []  # [(major, path)]
    packages = []
    torch = {}
    log = None
    until = None  # time.monotonic() at which the whole must have ended; None: any time


class Check:
    """`apart`: it may run beside its neighbours in the list that may, too: it takes no times,
    and uses nothing of theirs."""

    failures = threading.local()  # .texts: of the check that runs in this thread

    def __init__(self, what, function, apart):
        self.what, self.function, self.apart = what, function, apart


def check(name, what, apart=False):
    def add(function):
        CHECKS[name] = Check(what, function, apart)
        return function
    return add


def expect(truth, text):
    if not truth:
        Check.failures.texts.append(text)
    return truth


def say(text):
    print(text, flush=True)
    if Site.log:
        Site.log.write(text + "\n")
        Site.log.flush()


def goal(truth, text):
    """A claim about times: on the fake GPU they say nothing."""
    return Site.fake or expect(truth, text)


def left(timeout):
    """That many seconds, or what is left of all."""
    return timeout if Site.until is None else max(5, min(timeout, Site.until - time.monotonic()))


def finished(process, timeout):
    """Its outputs; when it takes too long all that it started is ended with it."""
    try:
        return process.communicate(timeout=left(timeout))
    except BaseException:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()
        raise


def output(command, *, env=None, timeout=120, fail=True):
    """Standard output of a command; both its outputs go to the log."""
    begin = time.monotonic()
    process = subprocess.Popen(command, env={**os.environ, **(env or {})}, text=True, errors="replace",
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    done = subprocess.CompletedProcess(command, None, *finished(process, timeout))
    done.returncode = process.returncode
    if Site.log:
        shown = " ".join(f"{k}={v}" for k, v in (env or {}).items())
        Site.log.write(f"$ {shown} {' '.join(command)}\n[{done.returncode}, "
                       f"{time.monotonic() - begin:.1f} s] {done.stdout[-4000:]}"
                       f"{done.stderr}\n")
    if fail and done.returncode:
        raise AssertionError(f"{command}: exit {done.returncode}: {done.stderr}")
    return done


def last_json(text):
    lines = text.strip().splitlines()
    for at in reversed(range(len(lines))):
        if lines[at].startswith(("{", "[")):
            return json.loads("\n".join(lines[at:]))
    raise AssertionError(f"no JSON in {text[-500:]!r}")


@functools.lru_cache(None)
def built(name, source, *flags):
    """A program or library of ours, compiled here; kept where no compiler is."""
    path = os.path.join(BUILD, "gpu", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        if os.path.exists(path):
            return path
        raise Skip(f"no C compiler, and no {path}: apt-get install gcc libc6-dev")
    output([compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-I.", "-o", path + ".new",
            os.path.join(HERE, source), *flags])
    os.replace(path + ".new", path)
    return path


def on_cudart(name, source, *flags):
    """One that is linked to the runtime that torch uses, else the toolkit's."""
    if not Site.cudart:
        raise Skip("no libcudart: pip install nvidia-cuda-runtime-cu12, or a toolkit")
    return built(name, source, Site.cudart, "-ldl", "-pthread", *flags,
                 "-Wl,-rpath," + os.path.dirname(Site.cudart))


def work():
    return on_cudart("work", "work.c")


def bare(kinds, **more):
    """The environment in which CUPTI records `kinds` and throws them away."""
    library = built("bare.so", "bare.c", "-shared", "-fPIC", "-ldl", "-pthread")
    if not Site.cupti:
        raise Skip("no libcupti: pip install nvidia-cuda-cupti-cu12, or a toolkit")
    for path in glob.glob(os.path.join(Site.out, "bare.json*")):
        os.unlink(path)
    return {"CUDA_INJECTION64_PATH": library, "BARE": kinds, "BARE_CUPTI": Site.cupti,
            "BARE_OUT": os.path.join(Site.out, "bare.json"),
            **{f"BARE_{k.upper()}": str(v) for k, v in more.items()}}


def bare_report():
    with open(os.path.join(Site.out, "bare.json"), encoding="utf-8") as file:
        return json.load(file)


def quietly(kinds, *words, env=None, **more):
    """work under bare CUPTI; what it recorded."""
    output([work(), *map(str, words)], env={**bare(kinds, **more), **(env or {})})
    return bare_report()


class Run:
    """A command under the launcher, and its traces."""

    def __init__(self, name, command, *, env=None, timeout=120, fail=True, **options):
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

    def only(self, exact=False):
        assert len(self.paths) == 1, (self.paths, self.done.stderr)
        return Trace(self.paths[0], exact)

    def json(self):
        return last_json(self.done.stdout)


class Trace:
    """`exact`: begin and end of each slice also in whole ns: where a file has no base, ts is
    more than a float holds."""

    def __init__(self, path, exact=False):
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
            self.raw = json.load(file, strict=False, parse_float=decimal.Decimal if exact else float)
        self.path = path
        self.base = self.raw.get("baseTimeNanoseconds", 0)
        self.slices = [e for e in self.raw["traceEvents"] if e["ph"] == "X" and e["cat"] != "Trace"]
        for event in self.slices if exact else ():
            begin, length = (int(event[key] * 1000) for key in ("ts", "dur"))
            event["ns"] = (begin + self.base, begin + length + self.base)
            event["ts"], event["dur"] = float(event["ts"]), float(event["dur"])
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


def quick(number):
    """So many; fewer where only the scripts themselves are tried (GPU_QUICK=20: a 20th)."""
    return max(1, number // int(os.environ.get("GPU_QUICK", "1")))


def median(values):
    values = sorted(values)
    return values[len(values) // 2] if values else None
