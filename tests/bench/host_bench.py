#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user waits for, bare and under us; Markdown tables.

The end of a torch program, from _exit to its parent's wait (the interpreter's own end
takes a second that differs by fifty times what is looked for), of a small one of C, from
the end of main, and of perl, from its last word (perl frees what it has before main ends);
two of CPython's own test modules, gcc and git gc, until the command has
ended; the launcher's own end, and the disk, of 3,000 short processes, and its end after a
program that filled the buffer.  Bare and each mode by turns, a bare run before each.

host_bench.py [--build B] [--python P] [--turns N] [--suites N] [exit|suites|build|end ...]
"""
import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("--build", default="build")
parser.add_argument("--python", default="build/venv/bin/python", help="with torch")
parser.add_argument("--turns", type=int, default=50, help="ends of a torch program")
parser.add_argument("--suites", type=int, default=3, help="runs of each module")
parser.add_argument("what", nargs="*", choices=["exit", "suites", "build", "end", []])
args = parser.parse_args()
LAUNCHER = os.path.abspath(args.build) + "/proflaunch"
PYTHON = os.path.abspath(args.python)
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SUITE = "/usr/bin/python3.11"           # of libpython3.11-testsuite
MODES = {"default": [], "none": ["--marker", "none"],
         "sample": ["--marker", "none", "--malloc", "sample"],
         "all": ["--marker", "none", "--malloc", "all"]}
WORK = tempfile.mkdtemp(dir="/var/tmp")     # a disk, where /tmp may be none

TORCH = """
import os, time, torch
m = torch.nn.Linear(64, 64); o = torch.optim.SGD(m.parameters(), 0.1)
for _ in range(20):
    o.zero_grad(); m(torch.ones(8, 64)).sum().backward(); o.step()
open("main", "w").write(str(time.monotonic_ns()))
os._exit(0)
"""
PERL = """
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
my @kept = map { "x" x 100 } 1 .. 20000;
open my $f, ">", "main"; printf $f "%d", 1e9 * clock_gettime(CLOCK_MONOTONIC); close $f;
"""
C = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char *kept[20000];

int main(void)
{
	struct timespec now;
	FILE *f = fopen("main", "w");

	for (int i = 0; i < 20000; i++)
		kept[i] = memset(malloc(100), 'x', 100);
	clock_gettime(CLOCK_MONOTONIC, &now);
	fprintf(f, "%lld", now.tv_sec * 1000000000ll + now.tv_nsec);
	return fclose(f);
}
"""
# Its child's end, as a program's parent sees it.
PARENT = """
import os, sys, time
pid = os.posix_spawn(sys.argv[1], [sys.argv[1], *sys.argv[2:]], os.environ)
status = os.waitpid(pid, 0)[1]
print(time.monotonic_ns() - int(open("main").read()))
sys.exit(status != 0)
"""


def command(mode, words):
    if mode == "bare":
        return words
    shutil.rmtree(WORK + "/log", ignore_errors=True)
    return [LAUNCHER, "-q", "--logdir", WORK + "/log", *MODES[mode], "--", *words]


def run(mode, words):
    done = subprocess.run(command(mode, words), cwd=WORK, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(f"{mode} {words[:3]}: {done.returncode}\n{done.stderr}")
    return done.stdout


def by_turns(modes, times, once):
    """{mode: [(once(bare), once(mode))]}; ^C: those that are there"""
    found = {mode: [] for mode in modes}
    try:
        for _ in range(times):
            for mode in modes:
                found[mode].append((once("bare"), once(mode)))
    except KeyboardInterrupt:
        print("interrupted, turns:", *map(len, found.values()), flush=True)
    return {mode: pairs for mode, pairs in found.items() if pairs}


def compiled(source):
    path = WORK + "/compiled"
    subprocess.run(["gcc", "-O1", "-x", "c", "-o", path, "-"], input=source, text=True, check=True)
    return path


def ends():
    for name, words in (("a torch program", [PYTHON, "-c", TORCH]),
                        ("a C program, 20,000 strings", [compiled(C)]),
                        ("perl, 20,000 strings", ["/usr/bin/perl", "-e", PERL])):
        def once(mode, words=words):
            return float(run(mode, [PYTHON, "-c", PARENT, *words])) / 1e6

        print(f"\n| the end of {name}, ms | bare | | more, medians | of pairs |\n|---|---|---|---|---|")
        for mode, pairs in by_turns(MODES, args.turns, once).items():
            bare, ours = map(statistics.median, zip(*pairs))
            more = statistics.median(b - a for a, b in pairs)
            print(f"| {mode} | {bare:.2f} | {ours:.2f} | {ours - bare:+.2f} | {more:+.2f} |", flush=True)


def end_of(path):
    with open(path, encoding="ascii") as file:
        return int(file.read()) / 1e9


# The command's own end is what counts: the shell says when.
UNTIL = '"$@" > out 2>&1; s=$?; date +%s%N > ended; exit $s'


def suites():
    print("\n| CPython's tests, until the command has ended | bare, s | times | pairs |\n|---|---|---|---|")
    for module in ("test_threading", "test_subprocess"):
        def once(mode, module=module):
            begin = time.time()
            run(mode, ["sh", "-c", UNTIL, "sh", SUITE, "-m", "test", module])
            return end_of(WORK + "/ended") - begin

        print_ratios(module, by_turns(MODES, args.suites, once))


def print_ratios(name, found):
    for mode, pairs in found.items():
        ratios = [b / a for a, b in pairs]
        print(f"| {name}, {mode} | {statistics.median(a for a, _ in pairs):.2f} | "
              f"{statistics.median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} |", flush=True)


def build():
    """What a developer starts all day, on this repository."""
    compiling = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", '-DVERSION="x"', f"-I{ROOT}", "-O2", "-g",
                 "-c", "-o", "out.o", f"{ROOT}/agent/unwind/unwind.c"]
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", ROOT, f"{WORK}/clone"], check=True)

    def compile_once(mode):
        begin = time.time()
        run(mode, ["sh", "-c", UNTIL, "sh", *compiling])
        return end_of(WORK + "/ended") - begin

    def collect_once(mode, words=()):
        shutil.rmtree(WORK + "/copy", ignore_errors=True)
        shutil.copytree(WORK + "/clone", WORK + "/copy", symlinks=True)
        begin = time.time()
        run(mode, ["sh", "-c", UNTIL, "sh", "git", "-C", WORK + "/copy", "gc", "-q", *words])
        return end_of(WORK + "/ended") - begin

    print("\n| until the command has ended | bare, s | times | pairs |\n|---|---|---|---|")
    print_ratios("gcc -O2 -g, one file", by_turns(MODES, 3 * args.suites, compile_once))
    print_ratios("git gc", by_turns(MODES, 3 * args.suites, collect_once))
    print_ratios("git gc --aggressive", by_turns(
        MODES, args.suites, lambda mode: collect_once(mode, ["--aggressive"])))


def disk():
    return sum(os.lstat(os.path.join(where, name)).st_blocks * 512
               for where, _, names in os.walk(WORK + "/log") for name in names)


def launcher_end():
    many = "i=0; while [ $i -lt 3000 ]; do /bin/true; i=$((i+1)); done; date +%s%N > ended"
    print("\n| 3,000 × `/bin/true` under `all` | s |\n|---|---|")
    for _ in range(3):
        begin = time.time()
        run("all", ["sh", "-c", many])
        over, ended = time.time(), end_of(WORK + "/ended")
        print(f"| the command, the launcher's own end | {ended - begin:.1f}, {over - ended:.2f} "
              f"({disk() >> 10} KiB are left) |", flush=True)
    pair = os.path.abspath(args.build) + "/heap/pair"
    for _ in range(3):
        begin = time.time()
        run("all", ["sh", "-c", UNTIL, "sh", pair, "4000000", "13"])
        over, ended = time.time(), end_of(WORK + "/ended")
        print(f"| 4,000,000 pairs with stacks, the launcher's own end | {ended - begin:.1f}, "
              f"{over - ended:.2f} |", flush=True)


WAYS = {"exit": ends, "suites": suites, "build": build, "end": launcher_end}
try:
    for word in args.what or WAYS:
        WAYS[word]()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
