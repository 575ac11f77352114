#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""coverage.py BUILD - what of the product the tests entered, out of gcov's counts in BUILD.

Writes BUILD/coverage/summary.md (by folder and by file), functions.txt (never entered) and
lines.txt (lines never run, by file), and prints the table by folder. A file is built up to
three times, for the agent, the launcher and the unit programs: what any of them ran counts.
"""
import collections
import glob
import json
import os
import re
import subprocess
import sys

PRODUCT = ("base/", "config/", "agent/", "writer/", "launcher/", "finisher/", "report/")


class File:
    def __init__(self):
        self.lines, self.branches = collections.Counter(), collections.Counter()
        self.functions = collections.Counter()

    def numbers(self):
        """(run, all) of lines, branches, functions."""
        return [(sum(1 for n in c.values() if n), len(c))
                for c in (self.lines, self.branches, self.functions)]


def gcov(path):
    """What gcov says of one object; one that was never loaded has a .gcno alone."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", path],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    for line in done.stdout.decode(errors="replace").split("\n"):
        if line.strip():
            yield from json.loads(line)["files"]


def add(files, said):
    name = os.path.normpath(said["file"])
    if not name.startswith(PRODUCT):
        return
    file = files.setdefault(name, File())
    for function in said["functions"]:
        name = re.sub("^(hook|yield)_test_", "", function["name"])     # the unit programs' name of it
        file.functions[function["start_line"], name] += function["execution_count"]
    # A line of an inline function is there once for each function it is in.
    at = collections.Counter()
    for line in said["lines"]:
        number = line["line_number"]
        file.lines[number] += line["count"]
        for branch in line["branches"]:
            file.branches[number, at[number]] += branch["count"]
            at[number] += 1


def percent(run, all_):
    return f"{100 * run / all_:.1f} %" if all_ else "–"


def table(groups):
    """Lines of a table: name, then run of all for lines, branches and functions."""
    yield "| | lines | | branches | | functions | |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for name, files in groups:
        cells = [name]
        for of in zip(*(file.numbers() for file in files)):
            run, all_ = (sum(n) for n in zip(*of))
            cells += [f"{run:,} of {all_:,}", percent(run, all_)]
        yield "| " + " | ".join(cells) + " |"


def ranges(numbers):
    """3, 4, 5, 9 as "3-5 9"."""
    out = []
    for n in sorted(numbers):
        if out and out[-1][1] == n - 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return " ".join(f"{a}-{b}" if a != b else str(a) for a, b in out)


def main(build):
    files = {}
    objects = glob.glob(os.path.join(glob.escape(build), "**/*.gcno"), recursive=True)
    for path in sorted(objects):
        for said in gcov(path):
            add(files, said)
    if not files:
        print(f"no counts in {build}")
        return 1
    out = os.path.join(build, "coverage")
    os.makedirs(out, exist_ok=True)
    folders = collections.defaultdict(list)
    for name, file in sorted(files.items()):
        folders[os.path.dirname(name)].append(file)
    groups = sorted(folders.items()) + [("all", list(files.values()))]
    with open(os.path.join(out, "summary.md"), "w", encoding="utf-8") as text:
        text.write("\n".join(table(groups)) + "\n\n")
        text.write("\n".join(table((n, [f]) for n, f in sorted(files.items()))) + "\n")
    with open(os.path.join(out, "functions.txt"), "w", encoding="utf-8") as text:
        for name, file in sorted(files.items()):
            for (line, function), count in sorted(file.functions.items()):
                if not count:
                    text.write(f"{name}:{line} {function}\n")
    with open(os.path.join(out, "lines.txt"), "w", encoding="utf-8") as text:
        for name, file in sorted(files.items()):
            never = [line for line, count in file.lines.items() if not count]
            if never:
                text.write(f"{name}: {ranges(never)}\n")
    print("\n".join(table(groups)))
    print(f"by file, functions never entered, lines never run: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
