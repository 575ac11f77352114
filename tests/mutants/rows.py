# SPDX-License-Identifier: Apache-2.0
"""Rows: the files *.rows, and whether each fault can still be planted. See README.md."""
import glob
import os
import re

CLASSES = ("arithmetic", "units", "edges", "errors", "order", "fork", "bounds", "errno", "counts",
           "escaping", "config", "messages")
SANITIZERS = ("address", "thread", "undefined")
FIELDS = ("sees", "same", "class", "tests", "known", "san")
HEAD = re.compile(r"== (\S+) ([a-z0-9]+(?:-[a-z0-9]+)*)$")


class Row:
    """One fault: the lines `old` of `file` become `new`."""

    def __init__(self, place, file, name):
        self.place, self.file, self.name = place, file, name
        self.part = os.path.splitext(os.path.basename(place.split(":")[0]))[0]
        self.fields, self.old, self.new = {}, "", ""

    @property
    def id(self):
        return f"{self.file} {self.name}"

    @property
    def folder(self):
        return os.path.dirname(self.file)

    @property
    def tests(self):
        return self.fields.get("tests", "").split()

    @property
    def san(self):
        return self.fields.get("san", "")

    @property
    def text(self):
        """What the verdict depends on."""
        return "\0".join((self.id, self.old, self.new, self.san))

    def planted(self, content):
        """The file's content with the fault, or None if the old lines are not there once."""
        around = "\n" + content
        if around.count("\n" + self.old) != 1:
            return None
        return around.replace("\n" + self.old, "\n" + self.new)[1:]


def parse(path, root, complain):
    """The rows of one file; complain(place, text) hears of every mistake."""
    rows, row, block = [], None, None
    shown = os.path.relpath(path, root)
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        place = f"{shown}:{number}"
        if block is not None and not (line == "-- new" and block == "old") and line != "-- end":
            setattr(row, block, getattr(row, block) + line + "\n")
        elif line in ("-- old", "-- new", "-- end"):
            follows = {"-- old": None, "-- new": "old", "-- end": "new"}[line]
            if row is None or block != follows:
                complain(place, f"{line!r} out of turn")
                block = None
                continue
            block = None if line == "-- end" else line[3:]
            if line == "-- end":
                row = None
        elif row is None and (not line.strip() or line.startswith("#")):
            continue
        elif line.startswith("=="):
            head = HEAD.match(line)
            if row is not None:
                complain(row.place, "no text to plant")
            if not head:
                complain(place, "a row begins with == FILE ID, and an id is lower-case words")
            row = Row(place, *(head.groups() if head else ("?", "?")))
            rows.append(row)
        else:
            field(row, place, line, complain)
    if row is not None:
        complain(row.place, "the row has no end")
    return rows


def field(row, place, line, complain):
    name, colon, value = line.partition(":")
    if row is None or not colon:
        complain(place, f"neither a row nor a field: {line!r}")
    elif name not in FIELDS:
        complain(place, f"unknown field {name!r}; there are {', '.join(FIELDS)}")
    elif name in row.fields:
        complain(place, f"{name} is said twice")
    elif not value.strip():
        complain(place, f"{name} says nothing")
    else:
        row.fields[name] = value.strip()


def check_fields(row, test_missing, complain):
    fields = row.fields
    if "sees" not in fields and "same" not in fields:
        complain(row.place, "neither sees: nor same:")
    if "class" not in fields and "same" not in fields:
        complain(row.place, "no class")
    if "class" in fields and fields["class"] not in CLASSES:
        complain(row.place, f"unknown class {fields['class']!r}; there are {', '.join(CLASSES)}")
    if row.san and row.san not in SANITIZERS:
        complain(row.place, f"unknown sanitizer {row.san!r}; there are {', '.join(SANITIZERS)}")
    for test in row.tests:
        why = test_missing(test)
        if why:
            complain(row.place, why)


def check_text(row, root, complain):
    path = os.path.join(root, row.file)
    if not os.path.isfile(path):
        complain(row.place, f"no file {row.file}")
        return
    with open(path, encoding="utf-8") as file:
        content = file.read()
    if not row.old.strip():
        complain(row.place, "no old text")
    elif row.old == row.new:
        complain(row.place, "old and new are the same")
    elif row.planted(content) is None:
        found = ("\n" + content).count("\n" + row.old)
        complain(row.place, f"its text is {found} times in {row.file}")


def read_all(folder, root, test_missing):
    """(rows, mistakes) of every *.rows of the folder; a mistake is "file:line: text"."""
    rows, mistakes, seen = [], [], {}

    def complain(place, text):
        mistakes.append(f"{place}: {text}")

    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.rows"))):
        rows += parse(path, root, complain)
    for row in rows:
        if row.id in seen:
            complain(row.place, f"{row.id} is at {seen[row.id]}, too")
        seen.setdefault(row.id, row.place)
        check_fields(row, test_missing, complain)
        check_text(row, root, complain)
    return rows, mistakes
