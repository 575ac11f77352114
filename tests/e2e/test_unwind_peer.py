#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""Our unwinder and libunwind walk the same stacks, in other people's programs.

$BUILD/unwind/peer.so is preloaded, without the launcher. At random moments, and then at each
of forty instructions, both walk; so they do where a program says peer_here(). Each walk
that differs is of a kind that has its reason in tests/programs/unwind_peer.h, or the test fails.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import prof

UNWIND = os.path.join(prof.BUILD, "unwind")
HERE = os.path.dirname(os.path.abspath(__file__))
PLACES = os.path.join(HERE, "..", "programs", "unwind_places.py")
SYSTEM, VENV = "/usr/bin/python3", os.path.join(prof.BUILD, "venv", "bin", "python")
# What may differ, and where all end alike: code that has no tables.
REASONED = {"SAME", "ENDED", "GUESSED", "REGISTER", "NOWHERE"}

SOURCE = """
#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>
int main() { std::map<std::string, std::vector<int>> m; m["x"] = {3, 1};
std::sort(m["x"].begin(), m["x"].end()); std::cout << m.size() << m["x"][0] << "\\n"; }
"""
SCRIPT = """
import decimal, json, re, sqlite3
rows = [{"a": i, "b": str(i)} for i in range(10000)]
assert json.loads(json.dumps(rows)) == rows
base = sqlite3.connect(":memory:")
base.execute("create table t(a, b)")
base.executemany("insert into t values(?, ?)", [(i * 7919 % 1000, str(i)) for i in range(10000)])
base.execute("select a, count(*), max(b) from t group by a order by 2").fetchall()
print(len(re.findall("(a|b)+c", "abababc" * 2000)), decimal.Decimal(2).sqrt())
print(sum(float(repr(1 / i)) for i in range(1, 20000)))
"""
PERL = r'my %h; for (1..200000) { $h{$_ % 1000} .= sprintf("%d", $_); } ' \
       r'print scalar(keys %h), " ", join("", sort values %h) =~ /1(2|3)+4/ ? "yes" : "no", "\n"'


class Report:
    """What one process said at its end."""

    def __init__(self, path):
        with open(path, encoding="utf-8", errors="replace") as file:
            self.text = file.read()
        lines = self.text.splitlines()
        words = lines[0].split()
        self.walks, self.steps = int(words[1]), int(words[7])
        self.kinds = {line.split()[1]: int(line.split()[2]) for line in lines if line.startswith("kind ")}
        self.places = {}
        for line in lines:
            if line.startswith("place "):
                name, kind, frames = line[6:].rsplit(" ", 2)
                self.places[name] = kind, int(frames)


def walked(command, *, status=0, **env):
    """The reports of the command's processes, by size; each difference has its reason."""
    if not os.path.exists(UNWIND + "/peer.so"):
        raise AssertionError("peer.so was not built: make unwind")
    with prof.folder() as work:
        run = subprocess.run(command, cwd=work, capture_output=True, timeout=200, check=False,
                             env={**os.environ, "LD_PRELOAD": UNWIND + "/peer.so", "PEER_OUT": work + "/walks",
                                  "LC_ALL": "C.UTF-8", **env}, stdin=subprocess.DEVNULL)
        assert run.returncode == status, (command, run.returncode, run.stderr)
        found = sorted(map(Report, glob.glob(work + "/walks.*")), key=lambda report: -report.walks)
    assert found, (command, run.stderr)
    for report in found:
        assert set(report.kinds) <= REASONED | {"FOREIGN"}, (command, report.text[:8000])
    return found


def totals(found):
    kinds = {}
    for report in found:
        for kind, n in report.kinds.items():
            kinds[kind] = kinds.get(kind, 0) + n
    return kinds


def at_random(name, command, *, same=0.98, **env):
    """Most walks are the same from end to end; those that end early are few. Where libunwind
    guesses, libgcc ends where ours does: a program may wait at such a place."""
    found = walked(command, PEER_WALKS="4000", **env)
    kinds = totals(found)
    print(f"  {name}: " + ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items())))
    assert sum(kinds.values()) >= 100, (name, kinds)
    assert kinds["SAME"] + kinds.get("GUESSED", 0) >= same * sum(kinds.values()), (name, kinds, found[0].text[:8000])
    return found


def places(found, least, ended=()):
    """All from one place are the same to the outermost frame, but those that are named."""
    (report,) = [one for one in found if one.places]
    assert len(report.places) >= least, report.places
    for name, (kind, frames) in report.places.items():
        assert kind == ("ENDED" if name in ended else "SAME"), (name, kind, report.text[:8000])
        assert frames >= 2 if name in ended else frames >= 3, (name, frames)
    return report.places


def test_below_libraries_of_c_and_cxx():
    """Callbacks, constructors, libtorch's threads; exceptions on their way, and those at
    each instruction of the C++ library, of libgcc's unwinder and of what they destroy."""
    seen = places(walked([UNWIND + "/places"], PEER_LATER="1"), 35, ended=["coroutine"])
    assert {"destructor, first frame", "destructor, last frame", "catch", "constructor of a library",
            "signal stack", "autograd, backward", "parallel_for, another's", "pthread_exit"} <= set(seen), seen
    for stack in {}, {"PEER_STACK": "1"}:
        found = at_random("exceptions", [UNWIND + "/places", "300"], status=3, PEER_LATER="1", **stack)
        seen = places(found, 35, ended=["coroutine"])
        assert seen["terminate"][1] >= 8, seen


def test_below_python_and_torch():
    for python in SYSTEM, VENV:
        found = at_random(python, [python, PLACES, "20"], same=0.7, PEER_LATER="1")
        assert len(places(found, 14)) == 14
    at_random("on a stack of its own", [SYSTEM, PLACES, "20"], same=0.7, PEER_LATER="1", PEER_STACK="1")


def test_programs_at_random_moments():
    work = tempfile.mkdtemp()
    try:
        with open(work + "/numbers", "w", encoding="ascii") as file:
            file.writelines(f"{i * 7919 % 100003} line {i}\n" for i in range(60000))
        with open(work + "/program.cc", "w", encoding="ascii") as file:
            file.write(SOURCE)
        programs = {
            "sort": ["sort", "-n", work + "/numbers"], "gzip": ["gzip", "-9", "-c", work + "/numbers"],
            "tar": ["tar", "czf", "x.tgz", "-C", HERE, "."],
            "git": ["git", "-C", HERE, "grep", "--no-index", "-c", "-E", "(a|b)+c.*[0-9]"],
            "objdump": ["objdump", "-d", UNWIND + "/places"], "perl": ["perl", "-e", PERL],
            "g++": ["g++", "-O2", "-c", work + "/program.cc"],
            "clang++": ["clang++", "-O1", "-c", work + "/program.cc"],
            "python": [SYSTEM, "-c", SCRIPT]}
        for name, command in programs.items():
            assert shutil.which(command[0]), f"no {command[0]}: tests/setup.sh test"
            at_random(name, command)
        at_random("perl, on a stack of its own", programs["perl"], PEER_STACK="1")
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
