# SPDX-License-Identifier: Apache-2.0
"""Linked: which objects are built from a file, and which unit programs hold one of them."""
import glob
import json
import os
import subprocess
import tempfile

KINDS = ("unit", "so", "bin")


def dependencies(path):
    """(object, files) of a .d file as gcc writes it."""
    with open(path, encoding="utf-8") as file:
        rule = file.read().replace("\\\n", " ").split("\n", 1)[0]
    name, _, files = rule.partition(":")
    return name.strip(), files.split()


def symbols(path, words):
    """Names of code and data; what is hidden is local in a program, t and not T."""
    out = subprocess.run(["nm"] + words + [path], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=False).stdout
    return {fields[2] for fields in map(str.split, out.split("\n"))
            if len(fields) == 3 and fields[1] in "TtDdBbRr"}


class Linked:
    def __init__(self, root, build, units):
        self.root, self.build = root, build
        self.objects = {}       # file -> objects, "build/unit/…/x.o"
        for kind in KINDS:
            found = os.path.join(glob.escape(os.path.join(root, build, kind)), "**/*.d")
            for path in glob.glob(found, recursive=True):
                name, files = dependencies(path)
                for file in files:
                    self.objects.setdefault(os.path.normpath(file), set()).add(name)
        self.holds = self.look([unit.name for unit in units])

    def look(self, units):
        """unit program -> its objects out of libunit.a: all that an object defines is in it."""
        cache = os.path.join(self.root, self.build, "linked.json")
        try:
            with open(cache, encoding="utf-8") as file:
                known = json.load(file)
        except (OSError, ValueError):
            known = {}
        ours, holds, stamps = None, {}, {}
        for unit in units:
            path = os.path.join(self.root, self.build, unit)
            if not os.path.exists(path):
                continue
            stamp = [os.stat(path).st_size, os.stat(path).st_mtime_ns]
            if known.get(unit, [None])[0] != stamp:
                if ours is None:
                    ours = {name: symbols(os.path.join(self.root, name), ["-g", "--defined-only"])
                            for name in set().union(*self.objects.values())
                            if name.startswith(f"{self.build}/unit/") and "/tests/" not in name}
                have = symbols(path, ["--defined-only"])
                known[unit] = [stamp, sorted(o for o, s in ours.items() if s and s <= have)]
            stamps[unit] = known[unit]
            holds[unit] = set(known[unit][1])
        with open(cache, "w", encoding="utf-8") as file:
            json.dump(stamps, file)
        return holds

    def of(self, file, kind=""):
        """The objects that are built from a file, a header's, too."""
        prefix = f"{self.build}/{kind}"
        return {name for name in self.objects.get(file, ()) if name.startswith(prefix)}

    def programs(self, file):
        """Names of the unit programs that have something of the file in them."""
        mine = self.of(file, "unit/")
        return {unit for unit, held in self.holds.items()
                if held & mine or f"{self.build}/unit/tests/unit/{unit}.o" in mine}


def content(path):
    with open(path, "rb") as file:
        return file.read()


def same_code(one, other):
    """Whether two objects differ in what debuggers read at most."""
    def bare(path):
        # Two jobs at once read an object of the tree without a fault.
        with tempfile.NamedTemporaryFile() as out:
            done = subprocess.run(["strip", "-g", "-o", out.name, path], stderr=subprocess.DEVNULL, check=False)
            return os.urandom(8) if done.returncode else content(out.name)
    return bare(one) == bare(other)
