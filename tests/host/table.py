# SPDX-License-Identifier: Apache-2.0
"""The table of programs: tests/host/rows/*.txt.  README.md says how a row is written.

As a program it says how many rows there are, and of how many executables.
"""
import glob
import os
import re
import shlex
import sys

ROWS, EXECUTABLES = 120, 80         # there are at least so many
HERE = os.path.dirname(os.path.abspath(__file__))
# What may stand before a command, and what a shell does itself.
BEFORE = re.compile(r"(?:^|[\n;|&(]|\bdo\b|\bthen\b|\belse\b|\buntil\b|\bwhile\b|\bexec\b)\s*"
                    r"(?:[A-Z_]+=\S*\s+)*((?:[a-z]|7z)[\w.+-]*)(?=[\s;|&)]|$)")
BUILTIN = set("break case cd continue do done echo else esac eval exec exit export fi for if kill "
              "printf read return set shift test then trap true ulimit umask unset until wait while "
              "command false".split())
LISTS = ("needs", "norm", "skip", "names", "sub")


class Row:
    def __init__(self, name, words, command, shell):
        self.name, self.command, self.shell = name, command, shell
        self.flags, self.limit, self.around = set(), 90, ""
        self.needs, self.norm, self.skip, self.names, self.sub = [], [], [], [], []
        self.known = {}
        for word in words:
            key, equals, value = word.partition("=")
            if not equals:
                self.flags.add(word)
            elif key == "known":            # mode:what+what,mode:what
                if any(not one.partition(":")[2] for one in value.split(",")):
                    raise ValueError(f"{name}: known= does not say in what")
                self.known.update((mode, set(what.split("+"))) for mode, _, what in
                                  (one.partition(":") for one in value.split(",")))
            elif key in LISTS:
                getattr(self, key).extend([value] if key == "sub" else value.split(","))
            else:
                setattr(self, key, type(getattr(self, key))(value))
        unknown = self.flags - {"small", "big", "root", "slow"}
        if unknown or not self.flags & {"small", "big"}:
            raise ValueError(f"{name}: unknown words {sorted(unknown)}, or neither small nor big")

    def argv(self, env):
        """The words of a plain row, with $NAME filled in; a shell's for the others."""
        if self.shell:
            return ["/bin/sh", "-c", self.command]
        return [re.sub(r"\$(\w+)", lambda m: env.get(m[1], m[0]), word)
                for word in shlex.split(self.command)]


def read_rows(path):
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"(?m)^#.*\n", "", file.read())
    for block in re.split(r"\n(?=\S)", text):
        if not block.strip():
            continue
        head = re.match(r"(\S+)((?:\s+[^\s:$][^\s]*)*)\s+([:$])\s+(.*)", block, re.S)
        if not head:
            raise ValueError(f"{path}: cannot read the row\n{block}")
        command = re.sub(r"(?m)^ {4}", "", head[4].strip())
        yield Row(head[1], head[2].split(), command, head[3] == "$")


def rows():
    found = [row for path in sorted(glob.glob(os.path.join(HERE, "rows", "*.txt")))
             for row in read_rows(path)]
    names = [row.name for row in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"two rows of one name: {sorted(twice)}")
    return found


def commands(row):
    """Names of the executables that a row runs for certain: none of our own, and none that
    only stands in a quoted text."""
    if not row.shell:
        first = shlex.split(row.command)[0]
        return set(row.needs) | ({os.path.basename(first)} if not first.startswith("$") else set())
    text = re.sub(r"<<\s*'?(\w+)'?\n.*?\n\s*\1(?=\n|$)", "\n", row.command + "\n", flags=re.S)
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "x", text)
    return set(row.needs) | (set(BEFORE.findall(text)) - BUILTIN)


def main():
    found = rows()
    names = set().union(*map(commands, found))
    print(f"{len(found)} rows, {sum('small' in row.flags for row in found)} of them small, "
          f"of {len(names)} executables")
    if "-v" in sys.argv:
        print(*sorted(names))
    return len(found) < ROWS or len(names) < EXECUTABLES


if __name__ == "__main__":
    sys.exit(main())
