#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What every program's start costs under us, recorded or not; a Markdown table.

One start: /bin/true by turns bare, with an empty library, with the agent whose constructor
does not run, and with the agent. Then 500 of them from bash, until bash has ended, by turns
bare and in each mode.
"""
import argparse
import os
import shutil
import statistics
import struct
import subprocess
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--build", default="build")
parser.add_argument("--rounds", type=int, default=9)
parser.add_argument("--starts", type=int, default=1000)
parser.add_argument("modes", nargs="*", help="of the second table; all without")
args = parser.parse_args()
HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(args.build)
LAUNCHER, AGENT = BUILD + "/proflaunch", BUILD + "/libproflaunch.so"
WORK = tempfile.mkdtemp()
LOOP = 'a=$EPOCHREALTIME; for i in {1..500}; do /bin/true; done; b=$EPOCHREALTIME; echo $((${b/./} - ${a/./}))'
MODES = {"default": [], "--marker none": ["--marker", "none"],
         "--malloc sample": ["--marker", "none", "--malloc", "sample"],
         "--malloc all": ["--marker", "none", "--malloc", "all"]}
DYNAMIC, INIT, FINI, INIT_SIZE, FINI_SIZE, DEBUG = 2, 12, 13, 27, 28, 21


def still(library):
    """The same file without constructors and destructors."""
    data = bytearray(open(library, "rb").read())
    (headers,), (count,) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<H", data, 56)
    for at in range(headers, headers + 56 * count, 56):
        kind, _, begin, _, _, size = struct.unpack_from("<IIQQQQ", data, at)
        for row in range(begin, begin + size, 16) if kind == DYNAMIC else ():
            (tag,) = struct.unpack_from("<Q", data, row)
            if tag in (INIT_SIZE, FINI_SIZE):
                struct.pack_into("<Q", data, row + 8, 0)
            elif tag in (INIT, FINI):
                struct.pack_into("<QQ", data, row, DEBUG, 0)
    path = WORK + "/still.so"
    open(path, "wb").write(data)
    return path


def output(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=WORK).stdout.split()


def compile_to(path, source, *flags):
    subprocess.run(["cc", "-O2", "-Wall", *flags, "-o", path, source], check=True)
    return path


def faults(environment):
    """Page faults of one start."""
    pid = os.posix_spawn("/bin/true", ["/bin/true"], environment)
    return os.wait4(pid, 0)[2].ru_minflt


def one_start():
    open(WORK + "/empty.c", "w").close()
    ways = {"an empty library": compile_to(WORK + "/empty.so", WORK + "/empty.c", "-shared", "-fPIC"),
            "the agent, constructor not run": still(AGENT), "the agent": AGENT}
    start = compile_to(WORK + "/start", HERE + "/start.c")
    bare, *others = map(float, output([LAUNCHER, "-q", "--", start, str(args.starts), *ways.values()]))
    clean = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    print(f"\n| one `/bin/true` | µs | times bare | page faults |\n|---|---|---|---|\n| bare | {bare / 1000:.0f} | 1 | {faults(clean)} |")
    for (name, library), ns in zip(ways.items(), others):
        print(f"| {name} | {ns / 1000:.0f} | {ns / bare:.2f} | {faults({**clean, 'LD_PRELOAD': library})} |")


def from_bash():
    bare, found = [], {mode: [] for mode in args.modes or MODES}
    for _ in range(args.rounds):
        for mode in args.modes or MODES:
            options = MODES[mode]
            before = float(output(["bash", "-c", LOOP])[0])
            found[mode].append(float(output([LAUNCHER, "-q", *options, "--", "bash", "-c", LOOP])[0]) / before)
            bare.append(before)
            shutil.rmtree(WORK + "/log", ignore_errors=True)
    print(f"\n| 500 × `/bin/true` in bash | times bare ({statistics.median(bare) / 1000:.0f} ms) |\n|---|---|")
    for mode, ratios in found.items():
        print(f"| {mode} | {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |")


try:
    one_start()
    from_bash()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
