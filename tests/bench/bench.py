#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the rows of the cost table and prints them as Markdown.

Each figure is the median of at least nine rounds that alternate with their baseline in
one run; the buffer is large enough that nothing is dropped.
"""
import argparse
import glob
import json
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

import beside

parser = argparse.ArgumentParser()
parser.add_argument("--build", default="build")
parser.add_argument("--python", required=True)
parser.add_argument("--rounds", type=int, default=9)
parser.add_argument("rows", nargs="*")
args = parser.parse_args()
args.python = os.path.abspath(args.python)  # programs run in a folder of their own
HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(args.build)
AGENT, LAUNCHER = BUILD + "/libproflaunch.so", BUILD + "/proflaunch"
FLOOR = BUILD + "/floor.so"
WORK = tempfile.mkdtemp()


def env(**options):
    """The agent alone, without the launcher: PROF_<NAME> for each option."""
    e = {k: v for k, v in os.environ.items() if not k.startswith("PROF_")}
    if options:
        e.update(LD_PRELOAD=AGENT, PROF_LOGDIR=WORK + "/log", PROF_QUIET="1", PROF_BUFFER_MB="4096",
                 **{f"PROF_{k.upper()}": str(v) for k, v in options.items()})
    return e


def output(command, **kw):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, cwd=WORK, **kw)
    if done.returncode:
        raise SystemExit(f"{command}: {done.returncode}\n{done.stderr}")
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""


def clean():
    shutil.rmtree(WORK + "/log", ignore_errors=True)


def script(name, *more, environment=None):
    return output([args.python, f"{HERE}/{name}", *map(str, more)], env=environment or env())


MODES = {"plain": {}, "shapes": {"record_shapes": 1}, "memory": {"record_shapes": 1, "profile_memory": 1}}


def row_op():
    for mode, options in MODES.items():
        r = json.loads(script("bench_op.py", mode, FLOOR, 11 * args.rounds,
                              environment=env(schedule="wait=1,active=1", **options)))
        clean()
        floors = {k: v for k, v in r.items() if k.startswith("floor")}
        yield (f"ns added per op in a window, {mode} (bare {r['bare']:.0f})", f"+{r['torch.profiler']:.0f}",
               ", ".join(f"+{v:.0f}" for v in floors.values()),
               f"{r['proflaunch']:+.0f} = {r['proflaunch'] / r['torch.profiler']:.2f}× = floor {r['proflaunch'] - max(floors.values()):+.0f}")


def burst(*what, **options):
    """A way of beside.turns()."""
    return [args.python, HERE + "/burst.py", *what], env(**options)


def added(found):
    return "{:+.0f} ({:+.0f} … {:+.0f})".format(*found)


def row_step():
    r = json.loads(script("bench_step.py", FLOOR, 11 * args.rounds, environment=env(schedule="wait=1000000,active=1")))
    clean()
    yield (f"ns per step while idle, `auto` (step: {r['bare']:.0f})", f"{r['torch.profiler']:+.0f}",
           f"{r['floor']:+.0f}", f"{r['proflaunch']:+.0f}")
    bare, found = beside.settled(burst("step"), {
        "again": burst("step"), "ours": burst("step", schedule="wait=1000000,active=1")}, 11, 3 * args.rounds, WORK)
    clean()
    yield (f"… processes next to each other (step: {bare:.0f}; the same again {added(found['again'])})",
           "–", "", added(found["ours"]))


def row_idle():
    bare, found = beside.settled(burst("op"), {
        "again": burst("op"), "idle": burst("op", schedule="wait=1000000,active=1"),
        "default": burst("op", marker="auto")}, 99, args.rounds, WORK)
    clean()
    yield (f"ns per op while idle (bare {bare:.0f}; the same again {added(found['again'])})", "0", "0",
           added(found["idle"]))
    yield ("ns per op in the default mode, before the first boundary", "–", "", added(found["default"]))


def row_stall():
    for mode in ("plain", "shapes"):
        theirs = json.loads(script("stall.py", mode, "torch.profiler", args.rounds))
        bare = json.loads(script("stall.py", mode, "bare", args.rounds))
        ours = json.loads(script("stall.py", mode, "proflaunch", args.rounds,
                                 environment=env(schedule="wait=1,active=1", **MODES[mode])))
        clean()
        busy = subprocess.Popen(["sh", "-c", "while :; do dd if=/dev/zero of=busy bs=1M count=64 conv=fsync 2>/dev/null; done"],
                                cwd=WORK, start_new_session=True)
        beside = json.loads(script("stall.py", mode, "proflaunch", args.rounds,
                                   environment=env(schedule="wait=1,active=1", **MODES[mode])))
        os.killpg(busy.pid, 15)
        busy.wait()
        clean()
        yield (f"the step that ends a window of 200 k ops, {mode}", f"{theirs['seal_us_median'] / 1e3:.0f} ms", "0",
               f"{ours['seal_us_median']:.0f} µs median, {ours['seal_us_worst']:.0f} µs worst; "
               f"beside a process that writes and syncs {beside['seal_us_median']:.0f} / {beside['seal_us_worst']:.0f}")
        yield (f"worst single op: in the window / after it, {mode}",
               f"{theirs['worst_op_in_window_us']:.0f} / {theirs['worst_op_after_us']:.0f} µs",
               f"bare: {bare['worst_op_in_window_us']:.0f} / {bare['worst_op_after_us']:.0f}",
               f"{ours['worst_op_in_window_us']:.0f} / {ours['worst_op_after_us']:.0f} µs; beside writer "
               f"{beside['worst_op_in_window_us']:.0f} / {beside['worst_op_after_us']:.0f}")


def children_cpu():
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def recover_once(ops, shapes, form="json"):
    """Records, leaves without formatting, and lets `recover` do all of it."""
    extra = ["--shapes"] if shapes else []
    r = json.loads(script("ops.py", "--who", "proflaunch", "--ops", ops, *extra,
                          environment=env(marker="none", format=form, **MODES["shapes" if shapes else "plain"])))
    spool = glob.glob(WORK + "/log/.proflaunch/*.spool")
    r["spool"] = os.stat(spool[0]).st_blocks * 512
    begin = children_cpu()
    child = subprocess.Popen([LAUNCHER, "recover", WORK + "/log"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, use = os.wait4(child.pid, 0)
    assert status == 0
    r["cpu_s"] = children_cpu() - begin
    r["cpu_us"] = r["cpu_s"] / ops * 1e6
    r["recover_rss"] = use.ru_maxrss * 1024
    files = glob.glob(WORK + "/log/*.pt.trace.json*")
    r["bytes"] = os.path.getsize(files[0]) / ops
    clean()
    return r


def medians(runs):
    return {k: statistics.median(r[k] for r in runs) for k, v in runs[0].items() if isinstance(v, (int, float))}


def row_write():
    for shapes in (False, True):
        what = "shapes" if shapes else "plain"
        profiler, runs, gzip = [], [], []
        for _ in range(args.rounds):
            profiler.append(json.loads(script("ops.py", "--who", "torch.profiler", "--ops", 1000000,
                                              *(["--shapes"] if shapes else []))))
            runs.append(recover_once(1000000, shapes))
            gzip.append(recover_once(1000000, shapes, "json.gz"))
        theirs, med, zipped = medians(profiler), medians(runs), medians(gzip)
        yield (f"event → file, CPU µs per op, {what} (`recover` alone)", f"{theirs['cpu_us_per_op']:.2f}", "",
               f"{med['cpu_us']:.2f}; gzip {zipped['cpu_us']:.2f}")
        yield (f"peak memory per op: growth of RSS, the spool's pages in it, {what} (disk space reserved)",
               f"{theirs['memory_per_op']:.0f} B", "", f"{med['rss_growth'] / 1e6:.0f} B ({med['spool'] / 1e6:.0f} B)")
        yield (f"file, bytes per op JSON / gzip, {what}", f"{theirs['bytes_per_op']:.0f} / {theirs['gz_bytes_per_op']:.0f}", "",
               f"{med['bytes']:.0f} / {zipped['bytes']:.1f}")


LAUNCHED = [LAUNCHER, "-q", "--logdir", WORK + "/log", "--"]


def row_start():
    """Differences of neighbours: what drifts meanwhile is in both. An import lasts too long
    for that: there processor time counts, of both at once on one processor."""
    bare, ours, launched = [], [], []
    command = [args.python, "-c", "pass"]
    for _ in range(20 * args.rounds):
        for times, wrap, e in ((bare, [], env()), (ours, [], env(marker="auto")), (launched, LAUNCHED, env())):
            begin = time.perf_counter()
            output([*wrap, *command], env=e)
            times.append(time.perf_counter() - begin)
        clean()
    more = [statistics.median(1e3 * (x - b) for x, b in zip(with_us, bare)) for with_us in (ours, launched)]
    yield (f"added to `python3 -c pass` ({statistics.median(bare) * 1e3:.0f} ms), goal ≤ 3 ms", "–", "",
           f"agent {more[0]:+.1f} ms, with launcher {more[1]:+.1f} ms")
    command = [args.python, "-c", "import torch"]
    pairs = {"again": (command, env()), "ours": (LAUNCHED + command, env())}
    found, alone = {name: [] for name in pairs}, []
    for _ in range(3 * args.rounds):
        for name, other in pairs.items():
            (_, bare_s), (_, other_s) = beside.at_once([(command, env()), other], WORK)
            found[name].append(1e3 * (other_s - bare_s))
            alone.append(bare_s)
        clean()
    yield (f"added to `import torch` ({statistics.median(alone):.2f} s), processor time, goal ≤ 10 ms", "–", "",
           f"with launcher {statistics.median(found['ours']):+.1f} ms; "
           f"the same twice {statistics.median(found['again']):+.1f} ms")


def row_growth():
    """What starting `recover` costs (a window of 10 operators) is taken off: it is no cost of an event."""
    sizes = (10, 10**4, 10**5, 10**6, 10**7)
    runs = {ops: [] for ops in sizes}
    for _ in range(args.rounds):
        for ops in sizes:
            runs[ops].append(recover_once(ops, False))
    start = medians(runs[10])["cpu_s"]
    cells = []
    for ops in sizes[1:]:
        m = medians(runs[ops])
        cells.append(f"10^{len(str(ops)) - 1}: {(m['cpu_s'] - start) / ops * 1e6:.2f} µs, "
                     f"recover RSS {max(r['recover_rss'] for r in runs[ops]) >> 20} MiB")
    yield (f"growth: µs per event to file (start of `recover`, {start * 1e3:.0f} ms, taken off)",
           "2.4 → 3.0 µs", "flat", "; ".join(cells))


def row_long():
    """One window; a burst of its operators next to bursts of a bare program's."""
    bursts, parts = 10**7 // 4000, {}
    for _ in range(args.rounds):
        bare, found = beside.turns(burst("op"), {"ours": burst("op", "--window", schedule="wait=1,active=1")},
                                   bursts, WORK)
        clean()
        for low, high in ((0, 25), (25, 250), (250, bursts)):
            parts.setdefault((low, high), []).append(statistics.median(found["ours"][low:high]))
    yield (f"growth: ns added per op, in one window of 10^7 (bare {bare:.0f})", "–", "flat", "; ".join(
        f"{low * 4000:,} to {high * 4000:,}: {statistics.median(v):+.0f}" for (low, high), v in parts.items()))


ROWS = {"op": row_op, "step": row_step, "idle": row_idle, "stall": row_stall, "write": row_write, "start": row_start,
        "growth": row_growth, "long": row_long}


def main():
    print("| what | torch.profiler | floor | proflaunch |\n| --- | --- | --- | --- |")
    for name in args.rows or ROWS:
        for cells in ROWS[name]():
            print("| " + " | ".join(cells) + " |", flush=True)
    shutil.rmtree(WORK)


if __name__ == "__main__":
    main()
