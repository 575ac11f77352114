#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""console.py [--write] [--only WORDS] PAGE... - run what a page shows, and compare or rewrite it.

A block of a page that begins with ```console is what a terminal showed: "$ " before a command,
"> " before a line that goes on with it, and all else is what was printed, on both streams. Each
section ("## ...") has a folder of its own, with copies of docs/cookbook/, in which its blocks run
one after the other. A command that ends with another status than 0 is an error: a page that
shows a failure says so itself (|| echo "status $?").

With --write the page gets what was printed. Without, each line of ours that the page shows
("proflaunch: ...") must be printed again, but for its numbers; of other lines nothing is asked,
for they are programs' output and tables of measured times. --only: sections whose title has
these words.

A page names no folder of this machine: PLACES are what it has instead.
"""
import argparse
import glob
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
LIBRARY = "/usr/local/lib/libproflaunch.so"
TIMEOUT = 600       # of a command, on a busy machine


class Wrong(Exception):
    pass


class Folder:
    """Where the blocks of one section run."""

    def __init__(self):
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="cookbook."))
        for path in glob.glob(os.path.join(ROOT, "docs", "cookbook", "*")) + \
                glob.glob(os.path.join(ROOT, "examples", "cuda_train.c")):
            if os.path.isfile(path):        # a cache of Python is none
                shutil.copy(path, self.path)
        self.tools = os.path.realpath(tempfile.mkdtemp(prefix="cookbook.bin."))
        os.symlink(os.path.join(BUILD, "proflaunch"), os.path.join(self.tools, "proflaunch"))
        venv = os.path.join(BUILD, "venv", "bin")
        fake = os.path.join(BUILD, "fake", "run-13.0")
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith(("PROF_", "PYTHON", "LD_"))}
        self.env |= {"PATH": f"{self.tools}:{venv}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
                     "OMP_NUM_THREADS": "1", "FAKE_GPU": os.path.realpath(fake)}
        self.places = [(os.path.join(BUILD, "libproflaunch.so"), LIBRARY),
                       (os.path.realpath(os.path.join(BUILD, "venv")), "/opt/venv"),
                       (os.path.join(BUILD, "venv"), "/opt/venv"),
                       (self.path, "/tmp/cookbook"),
                       (socket.gethostname() + "_", "node7_"),
                       (os.uname().release, "6.1.0-28-amd64")]

    def run(self, command):
        command = command.replace(LIBRARY, os.path.join(BUILD, "libproflaunch.so"))
        with tempfile.TemporaryFile() as out:
            status = subprocess.run(["bash", "-c", command], cwd=self.path, env=self.env,
                                    stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                    timeout=TIMEOUT, check=False).returncode
            out.seek(0)
            text = out.read().decode("utf-8", "replace")
        for real, shown in self.places:
            text = text.replace(real, shown)
        if status or "\nTraceback (most recent" in "\n" + text:
            raise Wrong(f"$ {command}\n{text}ended with status {status}")
        return text if not text or text.endswith("\n") else text + "\n"

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.rmtree(self.tools, ignore_errors=True)


def parts(block):
    """[(lines of the command as shown, what was printed)]"""
    found = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append([line, ""])
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1][0] += line
        elif found:
            found[-1][1] += line
        else:
            raise Wrong(f"output before the first command: {line}")
    return found


def command_of(shown):
    return "\n".join(line[2:] for line in shown.splitlines())


def shape(line):
    """A line without its numbers, units and paths: what of it is wording."""
    line = re.sub(r"/\S+", "PATH", line)
    line = re.sub(r"\b\d[\d,.]*(?: ?(?:[mun]?s|µs|[KMG]iB|B|%)(?![\w]))?", "N", line)
    return re.sub(r"\s+", " ", line)


def compare(shown, fresh, command):
    """Every line of ours that the page shows is printed again."""
    is_ours = [line for line in shown.splitlines() if line.startswith("proflaunch: ")]
    shapes = {shape(line) for line in fresh.splitlines()}
    for line in is_ours:
        if shape(line) not in shapes:
            raise Wrong(f"$ {command}\nthe page shows\n  {line}\nbut this was printed:\n{fresh}")
    return len(is_ours)


def do_block(block, folder, count):
    out = ""
    for shown, printed in parts(block):
        command = command_of(shown)
        fresh = folder.run(command)
        count["commands"] += 1
        out += shown + fresh
        if not count["write"]:
            count["lines"] += compare(printed, fresh, command)
    return out


def do_page(path, only, count):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    sections = re.split(r"^(?=## )", page, flags=re.M)
    for i, section in enumerate(sections):
        title = section.splitlines()[0] if section else ""
        if not BLOCK.search(section) or only not in title:
            continue
        folder = Folder()
        try:
            sections[i] = BLOCK.sub(
                lambda m: f"```console\n{do_block(m[1], folder, count)}```", section)
        except Wrong as why:
            raise Wrong(f"{path}: {title}\n{why}") from None
        finally:
            folder.remove()
        print(f"{path}: {title or '(head)'}: ok", flush=True)
    if count["write"] and "".join(sections) != page:
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(sections))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("pages", nargs="+")
    args = parser.parse_args()
    count = {"commands": 0, "lines": 0, "write": args.write}
    try:
        for page in args.pages:
            do_page(page, args.only, count)
    except Wrong as why:
        print(why)
        print("what is shown can be made anew: make docs")
        return 1
    print(f"{count['commands']} commands, {count['lines']} lines of ours as shown")
    return 0


if __name__ == "__main__":
    sys.exit(main())
