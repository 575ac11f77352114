#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows of the cost table for the GPU, on the fake one; Markdown, as bench.py.

    gpu_bench.py [--build build] [--fake 13.0] [--rounds 9] [row...]

Host time of a launch: our own part is the difference between us and bare CUPTI (the same
kinds, every record thrown away: tests/gpu/bare.c), both on the fake library.
"""
import argparse
import glob
import json
import os
import re
import resource
import shutil
import signal
import statistics
import struct
import subprocess
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--build", default="build")
parser.add_argument("--fake", default="13.0")
parser.add_argument("--rounds", type=int, default=9)
parser.add_argument("--launches", type=int, default=20000)
parser.add_argument("rows", nargs="*")
args = parser.parse_args()
BUILD = os.path.abspath(args.build)
FAKE = os.path.join(BUILD, "fake", f"run-{args.fake}")
AGENT, LAUNCHER = BUILD + "/libproflaunch.so", BUILD + "/proflaunch"
PROGRAM, BARE = BUILD + "/gpu_launch", BUILD + "/bare.so"
WORK = tempfile.mkdtemp()
CHUNK = struct.Struct("<IIII")  # magic, size, kind, used
CHUNK_MAGIC, CHUNK_CUDA, SPOOL_HEADER = 0x4B4E4843, 5, 64 * 1024


def build():
    cc = os.environ.get("CC", "cc")
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-I."]
    (cudart,) = glob.glob(FAKE + "/libcudart.so.*")
    subprocess.run([cc, *flags, "-o", PROGRAM, "tests/bench/gpu_launch.c", cudart], check=True)
    subprocess.run([cc, *flags, "-shared", "-fPIC", "-o", BARE + ".new", "tests/gpu/bare.c",
                    "-ldl", "-pthread"], check=True)
    os.replace(BARE + ".new", BARE)


def env(bare=None, **options):
    e = {k: v for k, v in os.environ.items() if not k.startswith(("PROF_", "BARE"))}
    e.update(LD_LIBRARY_PATH=FAKE, FAKE_KERNEL_NS="100", FAKE_LATENCY_NS="0")
    if bare:
        e.update(CUDA_INJECTION64_PATH=BARE, BARE=bare,
                 BARE_CUPTI=glob.glob(FAKE + "/libcupti.so.*")[0])
    elif options:
        e.update(LD_PRELOAD=AGENT, PROF_LOGDIR=WORK + "/log", PROF_QUIET="1",
                 PROF_BUFFER_MB="4096", **{f"PROF_{k.upper()}": str(v) for k, v in options.items()})
    return e


def launches(windows, number, environment, *more):
    done = subprocess.run([PROGRAM, str(windows), str(number), *more], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode not in (0, -signal.SIGKILL):
        raise SystemExit(f"{PROGRAM}: {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def clean():
    shutil.rmtree(WORK + "/log", ignore_errors=True)


def row_launch():
    """Processes alternate; of ours every fourth round lies in a window."""
    found = {"alone": [], "subscriber": [], "bare kernel": [], "bare": [], "window": [], "idle": []}
    for _ in range(args.rounds):
        found["alone"] += launches(2, args.launches, env())["rounds"]
        found["subscriber"] += launches(2, args.launches, env(bare="none"))["rounds"]
        found["bare kernel"] += launches(2, args.launches, env(bare="kernel"))["rounds"]
        found["bare"] += launches(2, args.launches, env(bare="launches"))["rounds"]
        ours = launches(4, args.launches, env(schedule="wait=3,active=1"))["rounds"]
        found["idle"] += ours[1:2]
        found["window"] += ours[3:]
        clean()
    m = {name: statistics.median(values) for name, values in found.items()}
    yield (f"host CPU ns added to a kernel launch in a window (alone {m['alone']:.0f}), goal: bare CUPTI + 150",
           "–", f"bare CUPTI +{m['bare'] - m['alone']:.0f}, kernels alone "
           f"+{m['bare kernel'] - m['alone']:.0f}",
           f"{m['window'] - m['alone']:+.0f} = bare {m['window'] - m['bare']:+.0f}")
    yield ("host CPU ns added to a kernel launch between windows", "–",
           f"a subscriber alone {m['subscriber'] - m['alone']:+.0f}", f"{m['idle'] - m['alone']:+.0f}")


def consumer(threads):
    """ns of the thread that decodes."""
    found = [ns for name, ns in threads if name == "proflaunch-gpu"]
    if not found:
        raise SystemExit(f"no consumer among the threads {threads}")
    return sum(found)


def row_consumer():
    costs = []
    for _ in range(args.rounds):
        few, many = (launches(1, number, env(marker="none"))
                     for number in (1000, 10 * args.launches))
        clean()
        records = 2 * (10 * args.launches - 1000)  # call and kernel
        costs.append((consumer(many["threads"]) - consumer(few["threads"])) / records)
    yield ("consumer thread, CPU ns per CUPTI record, goal ≤ 100", "–", "",
           f"{statistics.median(costs):.0f}")


def cuda_bytes(path):
    """Committed bytes of the spool's GPU chunks."""
    with open(path, "rb") as file:
        data = file.read()
    at, total = SPOOL_HEADER, 0
    while at + CHUNK.size <= len(data):
        magic, size, kind, used = CHUNK.unpack_from(data, at)
        if magic != CHUNK_MAGIC or not size:
            at += 4096
            continue
        total += used if kind == CHUNK_CUDA else 0
        at += size
    return total


def left(number):
    """A killed process: bytes in its spool, then of the file that recover makes."""
    launches(1, number, env(marker="none"), "leave")
    (spool,) = glob.glob(WORK + "/log/.proflaunch/*.spool")
    held = cuda_bytes(spool)
    begin = children_cpu()
    subprocess.run([LAUNCHER, "recover", WORK + "/log"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    cpu = children_cpu() - begin
    (path,) = glob.glob(WORK + "/log/*.pt.trace.json")
    size = os.path.getsize(path)
    with open(path, encoding="utf-8") as file:
        kernels = len(re.findall(r'"cat": ?"kernel"', file.read()))
    clean()
    return held, size, cpu, kernels


def children_cpu():
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def row_bytes():
    few, many = left(2000), left(10 * args.launches)
    number = many[3] - few[3]
    if number <= 0:
        raise SystemExit(f"no kernels in the trace: {few}, {many}")
    yield ("spool, bytes per kernel with its call, goal ≤ 128", "–", "",
           f"{(many[0] - few[0]) / number:.0f} B")
    yield ("file, JSON bytes per launched kernel (call, kernel, two flows), goal ≤ 1,250", "–", "",
           f"{(many[1] - few[1]) / number:.0f} B")
    yield ("records → file, CPU µs per launched kernel (`recover` alone)", "–", "",
           f"{(many[2] - few[2]) / number * 1e6:.2f}")


ROWS = {"launch": row_launch, "consumer": row_consumer, "bytes": row_bytes}


def main():
    if not os.path.isdir(FAKE):
        print(f"no fake CUDA {args.fake} in {BUILD}")
        raise SystemExit(77)
    build()
    print("| what | torch.profiler | floor | proflaunch |\n| --- | --- | --- | --- |")
    for name in args.rows or ROWS:
        for cells in ROWS[name]():
            print("| " + " | ".join(cells) + " |", flush=True)
    shutil.rmtree(WORK)


if __name__ == "__main__":
    main()
