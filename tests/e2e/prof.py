# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests in Python share: run under the launcher, read the files.

A test file defines functions test_*; main() runs them all, or those that are named.
"""
import contextlib
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
LAUNCHER = os.path.join(BUILD, "proflaunch")
AGENT = os.path.join(BUILD, "libproflaunch.so")
HERE = os.path.dirname(os.path.abspath(__file__))


# Everything, as in `make check-full`, or what fits into the twenty minutes of `make check`.
FULL = os.environ.get("FULL") == "1"


class Skip(Exception):
    pass


class Trace:
    """One finished file."""

    def __init__(self, path):
        self.path = path
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            self.raw = json.loads(file.read().decode("utf-8"))
        self.pid = int(re.search(r"_(\d+)(\.[^/]*)?\.pt\.trace", path)[1])
        self.slices = [e for e in self.raw["traceEvents"]
                       if e["ph"] == "X" and e["cat"] != "Trace"]
        self.slices.sort(key=lambda e: (e["ts"], -e["dur"]))
        self.facts = self.raw["proflaunch"]

    def names(self):
        return [e["name"] for e in self.slices if not e["name"].startswith("ProfilerStep#")]

    def steps(self):
        return [int(e["name"][13:]) for e in self.slices if e["name"].startswith("ProfilerStep#")]

    def named(self, name):
        return [e for e in self.slices if e["name"] == name]

    def window(self):
        marks = {e["name"]: e["ts"] for e in self.raw["traceEvents"] if e["ph"] == "i"}
        return marks["Iteration Start: PyTorch Profiler"], marks["Record Window End"]


class Run:
    """A finished command with what it left in its log directory."""

    def __init__(self, process, logdir):
        self.status, self.out, self.err = process.returncode, process.stdout, process.stderr
        self.logdir = logdir

    def paths(self, where=""):
        return sorted(glob.glob(os.path.join(self.logdir, where, "*.pt.trace.json*")),
                      key=lambda path: re.findall(r"\.(\d{19})\.", path))

    def traces(self, where=""):
        return [Trace(path) for path in self.paths(where)]

    def only(self):
        traces = self.traces()
        assert len(traces) == 1, f"{len(traces)} files\n{self.err}"
        return traces[0]

    def left_over(self):
        """Anything of ours that should have been cleaned away."""
        found = glob.glob(os.path.join(self.logdir, ".proflaunch", "*"))
        return found + glob.glob(os.path.join(self.logdir, "**", "*.part"), recursive=True)


@contextlib.contextmanager
def folder():
    path = tempfile.mkdtemp(prefix="proflaunch.")
    try:
        yield path
    finally:
        # A finisher that goes on alone may make a file in the middle of that.
        for _ in range(50):
            shutil.rmtree(path, ignore_errors=True)
            if not os.path.exists(path):
                break
            time.sleep(0.1)


def options(**given):
    """record_shapes=True -> --record-shapes on; a list: the option several times"""
    words = []
    for key, value in ((key, value) for key, of in given.items() for value in (of if isinstance(of, list) else [of])):
        text = ("off", "on")[value] if isinstance(value, bool) else str(value)
        name = "--" + key.replace("_", "-")
        words += [f"{name}={text}"] if key == "c_calls" else [name, text]     # a word behind it would be the command
    return words


def launch(command, logdir, *, env=None, timeout=300, check=True, wrap=(), **given):
    """The command under the launcher; `wrap` goes before the launcher itself."""
    words = [*wrap, LAUNCHER, "--logdir", logdir, *options(**given), "--", *command]
    process = subprocess.run(words, capture_output=True, text=True, timeout=timeout,
                             env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL)
    run = Run(process, logdir)
    if check and run.status != 0:
        raise AssertionError(f"exit status {run.status}\n{run.out[-500:]}\n{run.err}")
    return run


def plain(command, *, timeout=300, **given):
    if "input" not in given:
        given["stdin"] = subprocess.DEVNULL
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, **given)


def prog(name):
    path = os.path.join(BUILD, "prog", name)
    if not os.path.exists(path):
        raise AssertionError(f"{name} was not built: make {path}")
    return path


def strict(paths):
    """The strict checker's opinion of the files."""
    checker = os.path.join(HERE, "..", "readers", "strict.py")
    answer = plain([sys.executable, checker, *paths])
    assert answer.returncode == 0, answer.stdout[-3000:] + answer.stderr


def full(function):
    """A test that is slow, or at the mercy of the machine's load: `make check-full` runs it."""
    function.full = True
    return function


def is_wanted(name, function):
    if not name.startswith("test_"):
        return False
    if len(sys.argv) > 1:
        return name in sys.argv[1:]
    return not hasattr(function, "full") or FULL


def main(module):
    tests = {name: function for name, function in vars(module).items() if is_wanted(name, function)}
    failed, skipped = 0, []
    for name, function in tests.items():
        begin = time.monotonic()
        try:
            function()
            print(f"{name}: ok, {time.monotonic() - begin:.1f} s", flush=True)
        except Skip as reason:
            skipped.append(f"{name}: {reason}")
            print(f"{name}: skipped, {reason}")
        except Exception:
            failed += 1
            print(f"{name}: FAILED\n{traceback.format_exc()}", flush=True)
    if not failed and skipped and len(skipped) == len(tests):
        print("; ".join(skipped))
        sys.exit(77)
    sys.exit(1 if failed or not tests else 0)
