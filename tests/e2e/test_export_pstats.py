#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""`proflaunch export --pstats`: what Python's own pstats reads of it is what a plain count says, and what cProfile counts of the same program."""
import collections
import csv
import io
import json
import os
import pstats
import random
import sys

import prof
from test_python_walk import versions

VENV = os.path.join(prof.BUILD, "venv", "bin", "python")

# Its own functions are those of "own.py": deterministic, with all that makes counting hard.
OWN = """
import contextlib, threading
import torch

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def even(n):
    return n == 0 or odd(n - 1)

def odd(n):
    return n != 0 and even(n - 1)

def numbers(n):
    for i in range(n):
        yield fib(i)
    yield -1

@contextlib.contextmanager
def inside():
    x = 1
    yield x

def fails(n):
    if n == 0:
        raise ValueError("on purpose")
    fails(n - 1)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.b(self.a(x)).mm(x)

class Other:
    def forward(self, x):
        return sorted([3, 1, 2], key=lambda n: -n)

def work():
    fib(6)
    even(7)
    with inside():
        Other().forward(1)
    for n in numbers(5):
        pass
    try:
        fails(3)
    except ValueError:
        pass
    Net()(torch.ones(4, 4)).sum().backward()
"""

MAIN = """
import sys
sys.path.insert(0, sys.argv[1])
import cProfile, json, own
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile

own.work()
counts = cProfile.Profile()
counts.enable()
for _ in range(3):
    own.work()
counts.disable()
counts.dump_stats(sys.argv[2])
for path, more in ((sys.argv[3], {}), (sys.argv[4], {"experimental_config": _ExperimentalConfig(verbose=True)})):
    with profile(activities=[ProfilerActivity.CPU], with_stack=True, **more) as p:
        for _ in range(3):
            own.work()
    p.export_chrome_trace(path)
"""


def export(*words, status=0):
    run = prof.plain([prof.LAUNCHER, "export", "--pstats", *words])
    assert run.returncode == status, (words, run.returncode, run.stderr)
    return run


def stats_of(out, *words):
    export("-o", out, *words)
    return pstats.Stats(out).stats


# ---- a plain count ----

class Count:
    """Calls as (name, children, length): each is counted by looking at what is around it."""

    def __init__(self):
        self.rows = collections.defaultdict(lambda: [0, 0, 0, 0])
        self.pairs = collections.defaultdict(lambda: [0, 0, 0, 0])

    def add(self, call, around=()):
        key, children, length = call
        own = length - sum(child[2] for child in children)
        pair = around[-1:] + (key,)         # without a caller it is no pair
        for row, first in ((self.rows[key], key not in around), (self.pairs[pair], pair not in zip(around, around[1:]))):
            row[0] += first
            row[1] += 1
            row[2] += own
            row[3] += length if first else 0
        for child in children:
            self.add(child, around + (key,))

    def compare(self, stats):
        def same(got, want, order):
            want = [want[i] for i in order]
            assert got[:2] == tuple(want[:2]) and all(abs(g - w / 1e9) < 1e-12 for g, w in zip(got[2:4], want[2:])), (got, want)

        assert set(stats) == set(self.rows), set(stats) ^ set(self.rows)
        pairs = {(caller, key) for key, row in stats.items() for caller in row[4]}
        assert pairs == {pair for pair in self.pairs if len(pair) == 2}, len(pairs)
        for key, row in stats.items():
            same(row[:4], self.rows[key], (0, 1, 2, 3))
            for caller, sums in row[4].items():
                assert len(sums) == 4
                same(sums, self.pairs[caller, key], (1, 0, 2, 3))   # the calls come first there


FUNCTIONS = [("a.py", 10, "f"), ("a.py", 20, "g"), ("b c.py", 5, "gén"), ("a.py", 30, "f"), ("~", 0, "<built-in function len>"),
             ("~", 0, "nn.Module: Net_0"), ("~", 0, "<built-in method mm of Tensor object>")]


class Trace:
    """A random program's calls as torch.profiler writes them, in no order."""

    def __init__(self, seed):
        self.random, self.events, self.count, self.id = random.Random(seed), [], Count(), 0

    def call(self, key, tid, begin, depth, parent):
        at, children = begin + 1 + self.random.randrange(9), []
        self.id += 1
        mine = self.id
        for _ in range(self.random.randrange(4) if depth else 0):
            child = self.call(self.random.choice(FUNCTIONS), tid, at, depth - 1, mine)
            children.append(child)
            at += child[2] + self.random.randrange(5)
        name = key[2] if key[0] == "~" else "%s(%d): %s" % key
        if name.endswith(" object>"):
            name = name[:-1] + " at 0x%x>" % self.random.randrange(1 << 47)
        length = at - begin + 1 + self.random.randrange(9)
        self.events.append({"ph": "X", "cat": "python_function", "name": name, "pid": 7, "tid": tid, "ts": begin / 1000, "dur": length / 1000,
                            "args": {"Python id": mine, "Python parent id": parent}})
        return key, children, length

    def thread(self, tid, begin):
        for _ in range(6):
            made = self.call(self.random.choice(FUNCTIONS), tid, begin, 6, None)
            self.count.add(made)
            begin += made[2] + 10

    def save(self, path):
        self.random.shuffle(self.events)
        more = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 1, "ts": 0.001, "dur": 1e6},
                {"ph": "M", "name": "thread_name", "pid": 7, "tid": 2, "args": {"name": "thread 2 (second)"}}]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": self.events + more}, file)


def made(path, seed, threads=(1, 2)):
    trace = Trace(seed)
    for tid in threads:
        trace.thread(tid, 1000 * tid)
    trace.save(path)
    return trace


def test_random_programs_are_counted_like_a_plain_count():
    with prof.folder() as log:
        path, out = os.path.join(log, "t.json"), os.path.join(log, "out.prof")
        recursive = 0
        for seed in range(12):
            trace = made(path, seed)
            stats = stats_of(out, path)
            trace.count.compare(stats)
            recursive += sum(row[0] != row[1] for row in stats.values())
        assert recursive > 20, recursive        # or the trees had nothing of what is hard


def test_traces_add_up_as_pstats_adds_them():
    with prof.folder() as log:
        paths = [os.path.join(log, name) for name in ("1.json", "2.json", "1.prof", "2.prof", "all.prof")]
        for i in (0, 1):
            made(paths[i], 100 + i)
            stats_of(paths[2 + i], paths[i])
        got = stats_of(paths[4], paths[0], paths[1])
        want = pstats.Stats(paths[2]).add(paths[3]).stats
        assert set(got) == set(want)
        for key, row in got.items():
            assert row[:2] == want[key][:2] and set(row[4]) == set(want[key][4]), key
            assert all(abs(a - b) < 1e-9 for a, b in zip(row[2:4], want[key][2:4])), (row, want[key])
            assert {k: v[:2] for k, v in row[4].items()} == {k: v[:2] for k, v in want[key][4].items()}, key


def test_threads_that_are_asked_for():
    with prof.folder() as log:
        paths = [os.path.join(log, name) for name in ("both.json", "one.json", "out.prof")]
        made(paths[0], 5)
        only = Trace(5)
        only.thread(1, 1000)
        second = Trace(0)
        second.random, second.id = only.random, only.id       # goes on where the first thread left off
        second.thread(2, 2000)
        for words, count in ((("--threads", "1"), only.count), (("--threads=second",), second.count), (("--threads", "2"), second.count)):
            count.compare(stats_of(paths[2], *words, paths[0]))


# ---- readers ----

def test_each_python_reads_it():
    with prof.folder() as log:
        path, out = os.path.join(log, "t.json"), os.path.join(log, "out.prof")
        made(path, 3)
        export("-o", out, path)
        code = ("import pstats, sys; s = pstats.Stats(sys.argv[1]); s.sort_stats('cumulative').print_stats(); s.print_callers(); s.print_callees(); "
                "s.strip_dirs(); s.print_stats(3)")
        here = {version: python for version, python in versions().items() if version[0] == 3}
        assert here
        for version, python in here.items():
            run = prof.plain([python, "-c", code, out], env={**os.environ, "PYTHONIOENCODING": "utf-8"})
            assert run.returncode == 0 and "gén" in run.stdout and "{built-in function len}" in run.stdout, (version, run.stderr)
        run = prof.plain([sys.executable, "-m", "pstats", out], input="sort calls\nstats 5\ncallers gén\nquit\n")
        assert run.returncode == 0 and "Ordered by: call count" in run.stdout and "was called by..." in run.stdout, run
        assert "primitive calls" in run.stdout and "b c.py:5(gén)" in run.stdout, run.stdout


def test_standard_output_has_the_same():
    with prof.folder() as log:
        path, out = os.path.join(log, "t.json"), os.path.join(log, "out.prof")
        made(path, 3)
        export("-o", out, path)
        run = prof.plain(["sh", "-c", f"{prof.LAUNCHER} export --pstats {path} | cmp - {out}"])
        assert run.returncode == 0 and not run.stderr, run


# ---- torch's own traces ----

def by_name(stats):
    """own.py's functions: a generator that goes on has other lines in torch's names, and cProfile has full paths."""
    sums = collections.Counter()
    for (file, _, name), row in stats.items():
        if os.path.basename(file) == "own.py":
            sums[name, "calls"] += row[1]
            sums[name, "primitive"] += row[0]
            for caller, pair in row[4].items():
                if os.path.basename(caller[0]) == "own.py":
                    sums[name, caller[2]] += pair[0]
    return sums


def tree_of(path):
    """The calls of a trace by the ids that torch gave them, each with its name as it is in the file."""
    with open(path, encoding="utf-8") as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("cat") == "python_function"]
    names = {e["args"]["Python id"]: e["name"] for e in events}
    return events, collections.Counter((names.get(e["args"]["Python parent id"]), e["name"]) for e in events)


def plain(name):
    """As a key of pstats has it, but for lines."""
    return (name.partition("): ")[2] or name).partition(" at 0x")[0].rstrip(">") if name else name


def nesting_is_torchs(path, stats):
    """Calls lie in each other as torch's ids say."""
    events, want = tree_of(path)
    pairs, got = collections.Counter(), collections.Counter()
    for (caller, name), n in want.items():
        pairs[plain(caller), plain(name)] += n
    for key, row in stats.items():
        called = sum(pair[0] for pair in row[4].values())
        for caller, pair in row[4].items():
            got[caller[2].rstrip(">") if caller[0] == "~" else plain("): " + caller[2]), key[2].rstrip(">")] += pair[0]
        got[None, key[2].rstrip(">")] += row[1] - called
    assert +got == +pairs, (list((got - pairs).items())[:5], list((pairs - got).items())[:5])
    assert sum(row[1] for row in stats.values()) == len(events) > 500, len(events)
    whole = sum(e["dur"] for e in events if e["args"]["Python parent id"] is None)
    assert abs(sum(row[2] for row in stats.values()) - whole / 1e6) < 1e-6, whole


def view_is_the_same(path, stats):
    run = prof.plain([prof.LAUNCHER, "report", "--view", "python", "--format", "csv", path])
    rows = list(csv.DictReader(io.StringIO(run.stdout)))
    lines = {(row["line"], row["function"]): row for row in rows if row["line"]}
    assert len(rows) == len(stats), (len(rows), len(stats), run.stderr)
    for (file, line, name), (primitive, calls, own, total, _) in stats.items():
        if file != "~":
            row = lines[f"{file}:{line}", name]
            assert int(row["count"]) == calls and abs(float(row["total_time"]) / 1e6 - total) < 1e-8, (row, calls, total)
            assert abs(float(row["self_time"]) / 1e6 - own) < 1e-6 and abs(float(row["per_call"]) / 1e6 - total / primitive) < 2e-9, (row, own)


def test_torchs_own_traces_have_cprofiles_counts():
    with prof.folder() as log:
        paths = [os.path.join(log, name) for name in ("main.py", "c.prof", "plain.json", "verbose.json", "out.prof")]
        for name, text in (("main.py", MAIN), ("own.py", OWN)):
            with open(os.path.join(log, name), "w", encoding="utf-8") as file:
                file.write(text)
        run = prof.plain([VENV, paths[0], log, *paths[1:4]])
        assert run.returncode == 0, run.stderr
        want = by_name(pstats.Stats(paths[1]).stats)
        assert want["fib", "fib"] > want["fib", "primitive"] > 9 and want["numbers", "work"] == 3 * 7, want
        for path in paths[2:4]:
            stats = stats_of(paths[4], path)
            got = by_name(stats)
            assert got == want, (got - want, want - got)
            names = collections.Counter(key[2] for key in stats if key[0].endswith("own.py"))
            assert names["forward"] == 2 and names["fib"] == names["work"] == names["Net"] + 1 == 1, names
            assert not any(" at 0x" in key[2] for key in stats), [key for key in stats if " at 0x" in key[2]]
            nesting_is_torchs(path, stats)
            view_is_the_same(path, stats)
        ops = stats_of(paths[4], "--operators", paths[2])
        mm = ops["~", 0, "aten::mm"]
        assert mm[1] >= 9 and any(caller[2].startswith("<built-in method mm of") for caller in mm[4]), mm
        assert set(stats_of(paths[4], paths[2])) < set(ops)


# ---- what cannot be had ----

def test_what_is_missing_is_said():
    with prof.folder() as log:
        path, out, good = (os.path.join(log, name) for name in ("ops.json", "out.prof", "good.json"))
        event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 5}
        module = {**event, "cat": "python_function", "name": "nn.Module: Net_0"}
        for events in ([event], [event, module]):
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"traceEvents": events}, file)
            run = export("-o", out, path, status=2)
            assert "no functions of Python: record with proflaunch --with-stack=full, or torch.profiler(with_stack=True)" in run.stderr, run
            assert run.stderr.count("\n") == 1 and not os.path.exists(out), run
        made(good, 1)
        export("-o", out, path, good)                              # one of them has some
        assert len(pstats.Stats(out).stats) > 3
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": [{"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "main"}},
                                       event, {**module, "name": "a.py(1): f", "tid": 2}]}, file)
        run = export("--threads", "main", "-o", out, path, status=2)
        assert "no function of Python ran on these threads" in run.stderr, run
        assert "has no thread 9: it has" in export("--threads", "9", "-o", out, good, status=2).stderr
        with open(good, "rb") as file:
            whole = file.read()
        with open(path, "wb") as file:
            file.write(whole[:len(whole) // 2])
        run = export("-o", out, path)                              # what is whole of it is there, and a line says so
        assert "INCOMPLETE" in run.stderr and pstats.Stats(out).stats, run
        for words, say in ((("--operators", "--folded"), "--operators: is of --pstats"), (("--folded", "--threads", "1"), "--chrome and --pstats")):
            run = prof.plain([prof.LAUNCHER, "export", *words, good])
            assert run.returncode == 2 and say in run.stderr, run


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
