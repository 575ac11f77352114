#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers that may only fall: how far the tree is from what CONTRIBUTING.md asks of names and files.

house.py [--list NUMBER] [--lower]      --list: what is counted; --lower: write what was found

tests/lint/house.txt has the numbers that are allowed.  Circles and floors are read from the
objects of BUILD: who needs a symbol that another file defines.
"""
import collections
import functools
import os
import re
import subprocess
import sys

ROOMS = ("base/", "config/", "agent/", "writer/", "report/", "launcher/", "finisher/")
ALLOWED = "tests/lint/house.txt"
OLD_LIBC = "launcher/old_libc.c"     # names of the C library's for what it lacks
BUILD = os.environ.get("BUILD", "build")


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


FILES = [f for f in run("git", "ls-files", "-co", "--exclude-standard").split("\n")
         if f.startswith(ROOMS) and os.path.exists(f)]
SOURCES = [f for f in FILES if f.endswith(".c")]
HEADERS = [f for f in FILES if f.endswith(".h")]


def stem(path):
    return os.path.splitext(os.path.basename(path))[0]


# ---- objects ----

def symbols(kind):
    """file -> what it defines, file -> what it needs, in the agent (so) or the launcher (bin)."""
    defines, needs = {}, {}
    for file in FILES:
        built = f"{BUILD}/{kind}/{os.path.splitext(file)[0]}.o"
        if file.endswith((".c", ".S")) and os.path.exists(built):
            rows = [line.split() for line in run("nm", built).splitlines()]
            defines[file] = {r[-1] for r in rows if r[-2] in "TDBRVWC"}
            needs[file] = {r[-1] for r in rows if r[-2] == "U"}
    if not defines:
        sys.exit(f"no objects in {BUILD}/{kind}: make all")
    return defines, needs


@functools.lru_cache(None)
def arrows():
    """file -> {file: one symbol}; what the C library calls so, too, is no arrow."""
    to, library = collections.defaultdict(dict), hooked()
    for kind in ("so", "bin"):
        defines, needs = symbols(kind)
        home = {s: file for file, names in defines.items() for s in names - library if file != OLD_LIBC}
        for file, names in needs.items():
            for name in sorted(names):
                if home.get(name, file) != file:
                    to[file].setdefault(home[name], name)
    return to


def knots(nodes, to):
    """Tarjan: the strongly connected sets of more than one node."""
    index, low, stack, out = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in to.get(node, ()):
            if other in nodes and other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                out.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(nodes):
        if node not in index:
            visit(node)
    return out


def circles():
    to = arrows()
    rooms = collections.defaultdict(set)
    for file in FILES:
        rooms[os.path.dirname(file)].add(file)
    return [f"{room}: {' '.join(map(os.path.basename, knot))}"
            for room, nodes in sorted(rooms.items()) for knot in knots(nodes, to)]


def floors():
    """folder -> folders it may use, as tests/lint/layers.sh has them"""
    rows = re.findall(r"^([a-z_/]+):(.*)$", read("tests/lint/layers.sh"), re.M)
    return {room: {room, *(r for r in below.split() if not r.startswith("-"))} for room, below in rows}


def upward():
    table, to = floors(), arrows()
    return [f"{file} needs {name} of {other}" for file in sorted(to) for other, name in sorted(to[file].items())
            if os.path.dirname(other) not in table.get(os.path.dirname(file), ())]


# ---- names ----

@functools.lru_cache(None)
def functions():
    """(file, name, whether it is static)"""
    text = run("ctags", "-o", "-", "--languages=C", "--kinds-C=f", "--fields=+f", *SOURCES)
    rows = [line.split("\t") for line in text.splitlines()]
    return [(row[1], row[0], "file:" in row[3:]) for row in rows]


def hooked():
    """What a hook table, a program or the C library calls by another's name."""
    names = {"main", "InitializeInjection"}
    for file in FILES:
        if file.endswith(".def"):
            names |= set(re.findall(r"^\w+\([^,()]*, *(\w+)", read(file), re.M))
    return names


def bears(name, file):
    own, room = stem(file), os.path.basename(os.path.dirname(file))
    first = {own, own.split("_")[0], room, own.rstrip("s"), room.rstrip("s")}
    return name in first or name.startswith(tuple(word + "_" for word in first))


def strangers():
    others = hooked()
    return sorted(f"{file}: {name}" for file, name, static in functions()
                  if not static and name not in others and not name.startswith(("hook_", "__", "proflaunch_"))
                  and not re.fullmatch("[A-Z_]+", name) and not bears(name, file))


def one_word():
    return sorted(f"{file}: {name}" for file, name, static in functions()
                  if static and ("_" not in name or name.startswith("do_") and name.count("_") == 1))


# ---- files ----

def large_headers():
    return [f"{file}: {n} lines" for file in HEADERS if (n := read(file).count("\n")) > 120]


def wordless():
    """.c files without an opening comment, and without a header of their own that has one."""
    return [f for f in SOURCES if f[:-1] + "h" not in HEADERS
            and not re.match(r"/\* SPDX[^\n]*\n\s*/\*", read(f))]


def code_lines(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
    return sum(1 for line in text.split("\n") if line.strip())


def code():
    return sum(code_lines(read(f)) for f in FILES if f.endswith((".c", ".h", ".S", ".def")))


def comments():
    """Percent of lines with words of a comment, of the lines that are not blank."""
    words = lines = 0
    for file in FILES:
        if not file.endswith((".c", ".h")):
            continue
        text = read(file).split("\n", 1)[1]         # less the licence
        lines += sum(1 for line in text.split("\n") if line.strip())
        for comment in re.findall(r"/\*.*?\*/", text, re.S):
            words += sum(1 for line in comment.split("\n") if re.search(r"\w", line))
    return round(100 * words / lines, 1)


def uncompiled():
    """Tables that no C file includes."""
    all_text = "".join(read(f) for f in FILES if f.endswith((".c", ".h", ".S")))
    return [f for f in FILES if f.endswith(".def") and f'"{f}"' not in all_text]


def repeated():
    """Places with six lines or more that another file has as well: code, without blanks."""
    windows, found = collections.defaultdict(set), set()
    for file in SOURCES:
        text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), read(file), flags=re.S)
        lines = [(n, " ".join(line.split())) for n, line in enumerate(text.split("\n"), 1)]
        lines = [(n, line) for n, line in lines if line and not line.startswith("#include")]
        for at in range(len(lines) - 5):
            part = [line for _, line in lines[at:at + 6]]
            if sum(len(line) for line in part) > 60:
                windows["\n".join(part)].add((file, lines[at][0]))
    for places in windows.values():
        if len(places) > 1:
            found.add(tuple(sorted(places)))
    # One place is a run of windows.
    runs = {}
    for places in sorted(found):
        key = tuple(file for file, _ in places)
        last = runs.get(key)
        if not last or places[0][1] - last[-1][0][1] > 6:
            runs.setdefault(key, [])
            runs[key].append(places)
        else:
            last[-1] = places
    return [" ".join(f"{file}:{line}" for file, line in places) for group in runs.values() for places in group]


# Those of before the rule are what they are.
RULE_SINCE = "2026-11-22T12:00:00Z"


def long_subjects():
    return [s for s in run("git", "log", "-50", "--no-merges", "--format=%s", f"--since={RULE_SINCE}").split("\n") if len(s) > 60]


COUNTED = {
    "circles": circles, "upward": upward, "externs-of-other-files": strangers,
    "one-word-statics": one_word, "large-headers": large_headers, "files-without-a-word": wordless,
    "tables-not-compiled": uncompiled, "repeated-places": repeated, "long-subjects": long_subjects,
}


def lower(found, share):
    with open(ALLOWED, "w", encoding="utf-8") as file:
        file.write("# SPDX-License-Identifier: Apache-2.0\n# What house.py allows; see there.\n")
        file.writelines(f"{name} {number}\n" for name, number in found.items())
        file.write(f"comments-percent {share}\n")


def main():
    if sys.argv[1:2] == ["--list"]:
        print(*COUNTED[sys.argv[2]](), sep="\n")
        return 0
    allowed = dict(line.split() for line in read(ALLOWED).splitlines() if not line.startswith("#"))
    found = {name: len(count()) for name, count in COUNTED.items()}
    share = comments()
    if sys.argv[1:] == ["--lower"]:
        lower(found, share)
        return 0
    bad = share < float(allowed["comments-percent"])
    print(f"{share:7} comments-percent" + (": less than " + allowed["comments-percent"] if bad else ""))
    print(f"{code():7} lines-of-code")
    for name, number in found.items():
        worse = number > int(allowed[name])
        bad |= worse
        print(f"{number:7} {name}" + (f": more than {allowed[name]}; house.py --list {name}" if worse else ""))
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
