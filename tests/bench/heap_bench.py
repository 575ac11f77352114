#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows of the cost table for the heap, next to heaptrack and jemalloc's own sampling.

    heap_bench.py [--build build] [--python PYTHON] [--rounds 9] [row...]

Processes alternate: each round runs every way once, and a figure is the median of the
differences to (or ratios with) the plain run of the same round.  The window is open from
the program's start to its end; a run that drops anything is an error.
"""
import argparse
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time

import beside

parser = argparse.ArgumentParser()
parser.add_argument("--build", default="build")
parser.add_argument("--python")
parser.add_argument("--rounds", type=int, default=9)
parser.add_argument("--pairs", type=int, default=1_000_000)
parser.add_argument("rows", nargs="*")
args = parser.parse_args()
BUILD = os.path.abspath(args.build)
PYTHON = os.path.abspath(args.python or BUILD + "/venv/bin/python")
AGENT = BUILD + "/libproflaunch.so"
PAIR, DWARF = BUILD + "/heap/pair", BUILD + "/heap/pair-dwarf"
HEAPTRACK = shutil.which("heaptrack")
JEMALLOC = next(iter(glob.glob("/usr/lib/*/libjemalloc.so.2")), None)
SAMPLING = "prof:true,prof_active:true,lg_prof_sample:19"
WORK = tempfile.mkdtemp()
THERE = 15_000  # pairs of two threads: half of what is made ready for a window
DEEP = 13  # of them; with the loop, main, and those of the C library they are twenty
IMPORT = ("import time; a, b = time.perf_counter(), time.thread_time(); import torch; "
          "print([time.perf_counter() - a, time.thread_time() - b])")


class Way:
    """A command in an environment of its own, with or without somebody that looks on."""

    def __init__(self, command, wrap=(), preload=None, conf=None, **options):
        self.command, self.options = [*wrap, *map(str, command)], options
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith("PROF_") and k not in ("LD_PRELOAD", "MALLOC_CONF")}
        if preload:
            self.env.update(LD_PRELOAD=preload)
        if conf:
            self.env.update(MALLOC_CONF=conf)
        if options:
            self.env.update(LD_PRELOAD=AGENT, PROF_LOGDIR=WORK + "/log", PROF_QUIET="1",
                            PROF_BUFFER_MB="4096", PROF_MARKER="none",
                            **{f"PROF_{k.upper()}": str(v) for k, v in options.items()})

    def run(self):
        """(the last line of output that has a number or is JSON, seconds in all)"""
        os.sync()  # what the run before has written is not this one's affair
        begin = time.perf_counter()
        done = subprocess.run(self.command, env=self.env, cwd=WORK, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        took = time.perf_counter() - begin
        if done.returncode:
            raise SystemExit(f"{self.command}: {done.returncode}\n{done.stderr}")
        if self.options.get("malloc", "off") != "off":
            whole(self.options["malloc"])
        found = re.findall(r"^(?:\{.*\}|\[.*\])$", done.stdout, re.M)
        shutil.rmtree(WORK + "/log", ignore_errors=True)
        for left in glob.glob(WORK + "/ht.*"):
            os.unlink(left)
        return json.loads(found[-1]), took

    def beside(self, other):
        """Both at once on one processor: (the output of each, as of run())"""
        found = beside.at_once([(way.command, way.env) for way in (self, other)], WORK)
        for way in (self, other):
            if way.options.get("malloc", "off") != "off":
                whole(way.options["malloc"])
        shutil.rmtree(WORK + "/log", ignore_errors=True)
        return [json.loads(output) for output, _ in found]


def whole(mode):
    """Nothing may have been dropped, and the heap must be there."""
    if not glob.glob(WORK + "/log/*.pt.trace.json"):  # a busy machine: left for later
        subprocess.run([BUILD + "/proflaunch", "recover", WORK + "/log"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (path,) = glob.glob(WORK + "/log/*.pt.trace.json")
    with open(path, encoding="utf-8") as file:
        ours = json.load(file)["proflaunch"]
    dropped = {kind: n for kind, n in ours["drops"].items() if n}
    if dropped:
        raise SystemExit(f"dropped: {dropped}")
    if not ours["heap"]["total"]["allocs"]:
        raise SystemExit(f"malloc={mode}: no allocation was seen")


def heaptrack(command):
    return Way(command, wrap=[HEAPTRACK, "-o", WORK + "/ht"]) if HEAPTRACK else None


def rounds(ways, number=args.rounds):
    """name -> [result of each round]"""
    found = {name: [] for name, way in ways.items() if way}
    for _ in range(number):
        for name, way in ways.items():
            if way:
                found[name].append(way.run())
    return found


def added(found, name, base, what="cpu"):
    if name not in found:
        return "not here"
    return f"{statistics.median(a[0][what] - b[0][what] for a, b in zip(found[name], found[base])):+.1f}"


def row_pair():
    n = args.pairs
    many = 10 * n  # what costs little is measured for longer
    found = rounds({
        "bare": Way([PAIR, many]), "off": Way([PAIR, many], malloc="off"),
        "count": Way([PAIR, many], malloc="count"), "sample": Way([PAIR, many], malloc="sample"),
        "all": Way([PAIR, n], malloc="all", malloc_stacks=0),
        "one": Way([PAIR, n], malloc="all"), "heaptrack": heaptrack([PAIR, n]),
        "jemalloc": Way([PAIR, many], preload=JEMALLOC) if JEMALLOC else None,
        "jemalloc, sampling": Way([PAIR, many], preload=JEMALLOC, conf=SAMPLING) if JEMALLOC else None,
    })
    bare = statistics.median(run[0]["cpu"] for run in found["bare"])
    sampling = added(found, "jemalloc, sampling", "jemalloc") if JEMALLOC else "not here"
    yield (f"ns added to malloc + free of 64 bytes (bare {bare:.1f}): loaded, `malloc=off`", "–", "–",
           f"{added(found, 'off', 'bare')}, goal ≤ 3")
    yield ("… `count`", "–", "–", f"{added(found, 'count', 'bare')}, goal ≤ 8")
    yield ("… `sample`, 512 KiB, with stacks", "–", sampling, f"{added(found, 'sample', 'bare')}, goal ≤ 5")
    yield ("… `all`, no stacks", "–", "–", f"{added(found, 'all', 'bare')}, goal ≤ 45")
    yield ("… `all`, stacks of the shortest (about 6 frames)", added(found, "heaptrack", "bare"), "–",
           added(found, "one", "bare"))


def row_deep():
    n = args.pairs
    anew = [n, DEEP, 1, 64, 6]
    found = rounds({
        "bare, anew": Way([PAIR, *anew]), "pointers, anew": Way([PAIR, *anew], malloc="all"),
        "bare dwarf, anew": Way([DWARF, *anew]), "dwarf, anew": Way([DWARF, *anew], malloc="all"),
        "heaptrack, anew": heaptrack([PAIR, *anew]), "heaptrack dwarf, anew": heaptrack([DWARF, *anew]),
        "bare": Way([PAIR, n, DEEP]), "bare dwarf": Way([DWARF, n, DEEP]),
        "pointers": Way([PAIR, n, DEEP], malloc="all"),
        "dwarf": Way([DWARF, n, DEEP], malloc="all"),
        "bare, long": Way([PAIR, 10 * n, DEEP]), "sample": Way([PAIR, 10 * n, DEEP], malloc="sample"),
        "heaptrack": heaptrack([PAIR, n, DEEP]), "heaptrack dwarf": heaptrack([DWARF, n, DEEP]),
    })
    yield ("… `all`, stacks of 20 frames, frame pointers", added(found, "heaptrack", "bare"), "–",
           f"{added(found, 'pointers', 'bare')}, goal ≤ 150")
    yield ("… `all`, stacks of 20 frames, no frame pointers", added(found, "heaptrack dwarf", "bare dwarf"), "–",
           f"{added(found, 'dwarf', 'bare dwarf')}, goal ≤ 400")
    for what, goal, suffix in ("frame pointers", 150, ""), ("no frame pointers", 400, " dwarf"):
        ours = "dwarf, anew" if suffix else "pointers, anew"
        yield (f"… the same, half of the frames anew each time, on 64 ways; {what}",
               added(found, f"heaptrack{suffix}, anew", f"bare{suffix}, anew"), "–",
               f"{added(found, ours, f'bare{suffix}, anew')}, goal ≤ {goal}")
    yield ("… `sample`, stacks of 20 frames", "–", "–", added(found, "sample", "bare, long"))


def ratio(found, one, two, what):
    """How many times the work of one thread two threads do in the same time."""
    return statistics.median(2 * a[0][what] / b[0][what] for a, b in zip(found[one], found[two]))


def row_threads():
    """So few pairs that the pages for them are there when the window opens; then so many
    that two processors of two are busy when they are wanted."""
    n = args.pairs
    modes = {"bare": {}, "`all`, no stacks": {"malloc": "all", "malloc_stacks": 0},
             "`all`, 20 frames": {"malloc": "all"}, "`count`": {"malloc": "count"},
             "`sample`": {"malloc": "sample"}}
    for what, number, repeat, of in (
            ("pages are there", THERE, 3, ["bare", "`all`, no stacks", "`all`, 20 frames"]),
            (f"{n:,} pairs each", n, 1, modes)):
        ways = {(mode, threads): Way([PAIR, number, DEEP, threads], **modes[mode])
                for mode in of for threads in (1, 2)}
        found = rounds(ways, repeat * args.rounds)
        cells = [f"{mode} {ratio(found, (mode, 1), (mode, 2), 'wall'):.2f}× "
                 f"({ratio(found, (mode, 1), (mode, 2), 'cpu'):.2f}× of processor time)" for mode in of]
        yield (f"two threads do, of what one does; {what}", "–", "–", "; ".join(cells) + ", goal ≥ 1.8×")


def row_long():
    """Two threads that leave the page thread no processor, ten times as long."""
    n = args.pairs
    found = rounds({"bare": Way([PAIR, n, 0, 2]),
                    "short": Way([PAIR, n // 4, 0, 2], malloc="all", malloc_stacks=0),
                    "long": Way([PAIR, n * 4, 0, 2], malloc="all", malloc_stacks=0)})
    yield (f"… `all`, no stacks, two threads on {os.cpu_count()} processors, {n // 4:,} and {n * 4:,} pairs each",
           "–", "–", f"{added(found, 'short', 'bare')}, {added(found, 'long', 'bare')}; wall "
           f"{added(found, 'short', 'bare', 'wall')}, {added(found, 'long', 'bare', 'wall')}")


def row_import():
    """Two at once on one processor see the same neighbours: the processor time of the
    thread that imports. heaptrack's is of runs one after the other."""
    command = [PYTHON, "-c", IMPORT]
    bare = Way(command)
    ways = {"off": Way(command, malloc="off"), "count": Way(command, malloc="count"),
            "sample": Way(command, malloc="sample"), "all": Way(command, malloc="all"),
            "again": Way(command)}
    found, alone = {name: [] for name in ways}, []
    for _ in range(args.rounds):
        for name, way in ways.items():
            (_, base), (_, cost) = bare.beside(way)
            found[name].append(cost / base)
            alone.append(base)
    theirs = rounds({"bare": bare, "heaptrack": heaptrack(command), "all": ways["all"]})

    def wall(name):
        if name not in theirs:
            return "not here"
        inside = statistics.median(a[0][0] / b[0][0] for a, b in zip(theirs[name], theirs["bare"]))
        process = statistics.median(a[1] / b[1] for a, b in zip(theirs[name], theirs["bare"]))
        return f"{inside:.2f}× by the clock (whole process, with its file {process:.2f}×)"

    def times(name):
        return f"{statistics.median(found[name]):.3f}× ({min(found[name]):.2f} … {max(found[name]):.2f})"

    yield (f"`import torch` ({statistics.median(alone):.2f} s), `malloc=off`", "–", "–", times("off"))
    yield ("… `sample`", "–", "–", times("sample") + ", goal ≤ 1.03×")
    yield ("… `count`", "–", "–", times("count"))
    yield ("… `all` with stacks", wall("heaptrack"), "–", f"{times('all')}, goal ≤ 1.5×; {wall('all')}")
    yield ("… the same twice", "–", "–", times("again"))


ROWS = {"pair": row_pair, "deep": row_deep, "threads": row_threads, "long": row_long, "import": row_import}


def main():
    if not os.path.exists(PAIR):
        print(f"no {PAIR}: make heap")
        raise SystemExit(77)
    print("| what | heaptrack | jemalloc, sampling | proflaunch |\n| --- | --- | --- | --- |")
    for name in args.rows or ROWS:
        for cells in ROWS[name]():
            print("| " + " | ".join(cells) + " |", flush=True)
    shutil.rmtree(WORK)


if __name__ == "__main__":
    main()
