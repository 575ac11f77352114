#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Precision and recall of `proflaunch memory --leaks` on planted programs.

bench.py [--seeds A-B] [--really A-B] [--only SHAPE] prints a page for docs/measured/leaks.md.
"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LAUNCHER = os.path.abspath(os.path.join(os.environ.get("BUILD", f"{ROOT}/build"), "proflaunch"))
LIMIT = 65536
RESIDENT = (64 << 20) // 100                    # one percent of what is there at the beginning
SIZES = LIMIT // 2, 2 * LIMIT, 4 * LIMIT
STEPS = 20, 50, 100, 200
MODES = "all", "sample", "count"
Shape = collections.namedtuple("Shape", "name space least leaks")


def build(folder):
    program = os.path.join(folder, "planted")
    sources = [os.path.join(HERE, name) for name in sorted(os.listdir(HERE)) if name.endswith(".c")]
    subprocess.run(["cc", "-O2", "-o", program, *sources, "-lm", "-pthread"], check=True)
    return program


def shapes(program):
    lines = subprocess.run([program, "list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [Shape(name, space, int(least), leaks == "1")
            for name, space, least, leaks in map(str.split, lines.splitlines())]


def steps_of(shape, mode, seed):
    return max(shape.least, 200 if mode == "sample" else STEPS[seed % len(STEPS)])


def truth(shape, line):
    """By the program's own account: what it kept, in how many steps."""
    kept, steps = map(int, line.split())
    return kept > (RESIDENT if shape.space == "resident" else LIMIT) * steps


def verdict(path):
    answer = subprocess.run([LAUNCHER, "memory", "--leaks", path], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False)
    assert answer.returncode in (0, 1, 2), answer.stdout
    return answer.returncode, answer.stdout


def told(program, shape, size, mode, seed, folder, steps=0):
    path = os.path.join(folder, "told.json")
    line = subprocess.run([program, mode, shape.name, str(size),
                           str(steps or steps_of(shape, mode, seed)), str(seed), path],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    return truth(shape, line), *verdict(path)


def really(program, shape, size, mode, seed, folder):
    """The same under proflaunch; counters are 20 ms apart, so steps that are counted are longer."""
    count = mode == "count" or shape.space == "resident"
    steps = max(shape.least, 200 if mode == "sample" else 40 if count else 100)
    log = os.path.join(folder, f"{shape.name}.{size}.{mode}.{seed}")
    run = subprocess.run([LAUNCHER, "--quiet", "--logdir", log, "--malloc", mode, "--buffer-mb", "2048",
                          "--schedule", f"wait=1,warmup=1,active={steps},repeat=1", "--",
                          program, "really", shape.name, str(size), str(steps), str(seed),
                          "30" if count else "0"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    files = [os.path.join(log, name) for name in os.listdir(log) if name.endswith(".pt.trace.json")]
    assert len(files) == 1, (run.stderr, os.listdir(log))
    answer = truth(shape, run.stdout), *verdict(files[0])
    os.remove(files[0])
    return answer


class Tally:
    def __init__(self):
        self.right = self.quiet = self.missed = self.false = 0
        self.unsure = collections.Counter()

    def add(self, leaks, status):
        self.unsure[leaks] += status == 2
        self.right += leaks and status == 1
        self.missed += leaks and status == 0
        self.quiet += not leaks and status == 0
        self.false += not leaks and status == 1

    def runs(self):
        return self.right + self.quiet + self.missed + self.false + sum(self.unsure.values())

    def row(self, name):
        found, real = self.right + self.false, self.right + self.missed
        return (f"| {name} | {self.runs():,} | {self.right:,} | {self.quiet:,} | {self.missed} | {self.false} "
                f"| {sum(self.unsure.values())} ({100 * sum(self.unsure.values()) / self.runs():.1f} %) "
                f"| {self.right / found if found else 1:.4f} | {self.right / real if real else 1:.4f} |")


HEAD = ("| mode | runs | leaks found | none, rightly | missed | false alarms | cannot say | precision | recall |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |")


def measure(kind, run, all_shapes, seeds, folder, program):
    tallies = {mode: Tally() for mode in MODES}
    by_shape, wrong = collections.defaultdict(collections.Counter), []
    for shape in all_shapes:
        for mode in MODES:
            # Tensors are known exactly, whatever is recorded of the heap.
            if shape.space not in ("heap", "resident") and mode != "all":
                continue
            for size in SIZES:
                for seed in seeds:
                    leaks, status, said = run(program, shape, size, mode, seed, folder)
                    tallies[mode].add(leaks, status)
                    if status == 2:
                        by_shape[shape.name][mode] += 1
                    elif bool(status) != leaks:
                        wrong.append((shape.name, mode, size, seed, leaks))
                        print(f"{kind}: {shape.name} {mode} S={size} seed={seed}: leaks={leaks}, {said}",
                              file=sys.stderr)
    return tallies, by_shape, wrong


def page(tallies, by_shape, wrong):
    print(HEAD)
    for mode in MODES:
        if tallies[mode].runs():
            print(tallies[mode].row(mode))
    if wrong:
        print("\nWrong: " + "; ".join(f"{name}, {mode}, S = {size / LIMIT:g} G, seed {seed}"
                                      for name, mode, size, seed, leaks in wrong) + ".")
    if by_shape:
        print("\nCannot say: " + "; ".join(
            f"{name} ({', '.join(f'{mode} {n}' for mode, n in counts.items())})"
            for name, counts in sorted(by_shape.items())) + ".")
    print()


def sample_by_steps(program, all_shapes, folder):
    """How many steps a sample needs."""
    print("| steps | " + " | ".join(map(str, STEPS)) + " | 400 |\n| --- |" + " --- |" * 5)
    share, wrong = [], []
    for steps in (*STEPS, 400):
        tally = Tally()
        for shape in all_shapes:
            if shape.space != "heap" or shape.least > steps:
                continue
            for size in SIZES:
                for seed in (1, 2):
                    leaks, status, _ = told(program, shape, size, "sample", seed, folder, steps)
                    tally.add(leaks, status)
        share.append(f"{100 * sum(tally.unsure.values()) / tally.runs():.0f} %")
        wrong.append(str(tally.missed + tally.false))
    print(f"| cannot say | {' | '.join(share)} |\n| wrong | {' | '.join(wrong)} |\n")


def seeds_of(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1) if text else ()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seeds", type=seeds_of, default="1-20")
    options.add_argument("--really", type=seeds_of, default="")
    options.add_argument("--only")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="proflaunch.leaks.") as folder:
        program = build(folder)
        known = [s for s in shapes(program) if not asked.only or s.name == asked.only]
        if asked.seeds:
            print(f"## Told: {len(known)} programs, three sizes, seeds {asked.seeds[0]} to {asked.seeds[-1]}\n")
            page(*measure("told", told, known, asked.seeds, folder, program))
            if asked.seeds[0] == 1:
                print("### Steps that a sample needs\n")
                sample_by_steps(program, known, folder)
        if asked.really:
            real = [s for s in known if s.space in ("heap", "resident")]
            print(f"## Run: {len(real)} programs, three sizes, seeds {asked.really[0]} to {asked.really[-1]}\n")
            page(*measure("run", really, real, asked.really, folder, program))


if __name__ == "__main__":
    main()
