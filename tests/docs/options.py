#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""options.py [--write] - the tables of docs/options.md, from the tables that the parsers read.

Of config/config.def, launcher/{memory,report,diff,gate,ranks,export,bottleneck}.def and launcher/recover/recover.def each row
becomes one of the page, between "<!-- NAME -->" and "<!-- end -->".  Without --write it compares, and looks
at what the README says of options, too: each is there, with the same default.
"""
import os
import re
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PAGE = os.path.join(ROOT, "docs", "options.md")
TEXT = r'"((?:[^"\\]|\\.)*)"'
ROW = re.compile(rf'^CFG\((\w+), (\w+), {TEXT}, (\d+), (\d+), (\w+), {TEXT}, {TEXT}\)$', re.M)
CHOICES = re.compile(r"^#define CHOICES_(\w+)\(IS, OR\) (.*)$", re.M)
DEFAULT = re.compile(r"[;,] default (%[^\s,;]+)")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Option:
    def __init__(self, found, choices):
        kind, self.name, self.default, low, high, name, unit, self.help = found.groups()
        if kind == "flag":
            self.takes = "`on`, `off`"
        elif kind == "set":
            self.takes = "any of " + ", ".join(f"`{word}`" for word in choices[name.removeprefix("CHOICES_")]) + "; `off`"
        elif kind == "choice":
            self.takes = ", ".join(f"`{word}`" for word in choices[name.removeprefix("CHOICES_")])
        else:
            self.takes = unit if kind == "text" else f"{int(low):,} to {int(high):,} {unit}"
        if not self.default and DEFAULT.search(self.help):
            self.default = DEFAULT.search(self.help)[1]


def options():
    text = read("config/config.def")
    choices = {name: re.findall(TEXT, rest) for name, rest in CHOICES.findall(text)}
    rows = [Option(found, choices) for found in ROW.finditer(text)]
    if len(rows) != len(re.findall(r"^CFG\(", text, re.M)) or len(rows) < 30:
        sys.exit("config/config.def: rows that this script cannot read")
    return rows


def cell(text):
    return text.replace("|", "\\|").replace("<", "\\<")


def table_of_run():
    yield "| option | takes | default | meaning |"
    yield "| --- | --- | --- | --- |"
    for o in options():
        default = f"`{o.default}`" if o.default else "–"
        yield f"| `--{o.name.replace('_', '-')}` | {o.takes} | {default} | {cell(o.help)} |"


def table_of(path):
    yield "| option | takes | meaning |"
    yield "| --- | --- | --- |"
    for name, takes, text in re.findall(rf'^OPTION\({TEXT}, {TEXT}, {TEXT}\)$', read(path), re.M):
        yield f"| `--{name}` | {takes or '–'} | {cell(text)} |"


def made():
    tables = {"run": table_of_run(), "memory": table_of("launcher/memory.def"),
              "report": table_of("launcher/report.def"),
              "diff": table_of("launcher/diff.def"), "gate": table_of("launcher/gate.def"), "ranks": table_of("launcher/ranks.def"),
              "export": table_of("launcher/export.def"),
              "recover": table_of("launcher/recover/recover.def"),
              "bottleneck": table_of("launcher/bottleneck.def")}
    page = read(PAGE)
    for name, lines in tables.items():
        block = f"<!-- {name} -->\n" + "\n".join(lines) + "\n<!-- end -->"
        page, n = re.subn(rf"<!-- {name} -->\n.*?<!-- end -->", lambda m: block, page, flags=re.S)
        if n != 1:
            sys.exit(f"docs/options.md: no place for the table of {name}")
    return page


def check_readme():
    """Rows of its table: | `--name` | default | ... |"""
    known = {"--" + o.name.replace("_", "-"): o for o in options()}
    rows = re.findall(r"^\| `(--[\w-]+)` \| `?([^|`]*)`? \|", read("README.md"), re.M)
    if len(rows) < 8:
        sys.exit(f"README.md: {len(rows)} options in its table")
    for name, default in rows:
        if name not in known:
            sys.exit(f"README.md: there is no {name}")
        if (known[name].default or "–") != default.strip():
            sys.exit(f"README.md: the default of {name} is {known[name].default}, not {default}")
    print(f"{len(rows)} options in the README are as the parser has them")


def main():
    page = made()
    if sys.argv[1:] == ["--write"]:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page)
    elif page != read(PAGE):
        print("docs/options.md is not what the tables of options say: make docs")
        return 1
    else:
        check_readme()
    return 0


if __name__ == "__main__":
    sys.exit(main())
