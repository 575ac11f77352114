# SPDX-License-Identifier: Apache-2.0
"""Programs measured beside each other, on one processor of a machine that others use, too.

What else the machine does comes and goes by the tenth of a second and makes a program a
third slower. Two runs one after the other see different machines; here both see the same.
"""
import contextlib
import os
import statistics
import subprocess
import sys


LAST = {max(os.sched_getaffinity(0))}


@contextlib.contextmanager
def one_processor():
    """Children started inside stay on one processor."""
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, LAST)
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)


class Program:
    """A burst.py: it does its work when asked, and says what a unit of it took."""

    def __init__(self, command, env, cwd):
        self.child = subprocess.Popen(command, env=env, cwd=cwd, text=True, bufsize=1,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def burst(self):
        self.child.stdin.write("\n")
        line = self.child.stdout.readline()
        if not line:
            raise SystemExit(f"{self.child.args}: ended early, {self.child.wait()}")
        return float(line)

    def settle(self):
        for thread in os.listdir(f"/proc/{self.child.pid}/task"):
            os.sched_setaffinity(int(thread), LAST)

    def end(self):
        self.child.stdin.close()
        if self.child.wait():
            raise SystemExit(f"{self.child.args}: {self.child.returncode}")


def alternate(base, ways, rounds):
    """base() and ways[name]() give nanoseconds. They go base, one, base, another, ...;
    returns the median of base's, and of each other's the differences to the two of base
    around it."""
    added, alone = {name: [] for name in ways}, []
    before = base()
    for _ in range(rounds):
        for name, way in ways.items():
            cost = way()
            after = base()
            added[name].append(cost - (before + after) / 2)
            alone.append(after)
            before = after
    return statistics.median(alone), added


def turns(base, others, bursts, cwd):
    """alternate() with processes; base and others[name]: (command, env)."""
    bare = Program(*base, cwd)
    programs = {name: Program(*other, cwd) for name, other in others.items()}
    for program in (bare, *programs.values()):
        program.burst()  # what is done once: imports, caches
        program.settle()
    found = alternate(bare.burst, {name: p.burst for name, p in programs.items()}, bursts)
    for program in (bare, *programs.values()):
        program.end()
    return found


def settled(base, others, bursts, rounds, cwd):
    """turns() with new processes in each round, for a process's layout is a matter of luck.
    Returns base, and for each other (median of the rounds' medians, lowest, highest)."""
    bare, found = [], {name: [] for name in others}
    for _ in range(rounds):
        alone, added = turns(base, others, bursts, cwd)
        bare.append(alone)
        for name, values in added.items():
            found[name].append(statistics.median(values))
    return statistics.median(bare), {name: (statistics.median(v), min(v), max(v))
                                     for name, v in found.items()}


def at_once(commands, cwd):
    """Runs all of them at the same time on one processor. commands: [(command, env)];
    returns [(output, seconds of processor time of the process with its threads and the
    children it waited for)]."""
    with one_processor():
        running = [subprocess.Popen(command, env=env, cwd=cwd, stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, text=True) for command, env in commands]
    found = []
    for child in running:
        output = child.stdout.read()
        _, status, use = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{child.args}: {child.returncode}")
        found.append((output, use.ru_utime + use.ru_stime))
    return found


def serve(burst):
    """The other side of Program: a burst for each line, until there is none."""
    for _ in sys.stdin:
        print(burst(), flush=True)
