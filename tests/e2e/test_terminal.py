#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""What a user sees: whole terminal sessions, against tests/golden/terminal/NAME.txt.

A file is a session as it stands on a screen: "$ COMMAND" lines ("> " continues one), below each what it
prints on stdout and stderr, and "[STATUS]" where that is not 0.  Each session has an empty directory, a
clean environment, and in PATH proflaunch, the programs of the tests, and python3 with torch.  What differs
from run to run is replaced: see REPLACE.  Lines with "#" at the begin of the file are about it:

    # needs: NAME ...      left out where a file below build/, "root" or "mount", is not there; or is: "no-gpu"
    # replace: REGEX => TEXT

`test_terminal.py --write [NAME ...]` writes what is printed now into the files; read the diff.
"""
import os
import re
import shlex
import subprocess
import sys

import prof

GOLDEN = os.path.join(prof.HERE, "..", "golden", "terminal")
PATIENCE_S = 120
GPU = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg")
REPLACE = [
    (r"proflaunch\[\d+\]", "proflaunch[PID]"),
    (r"_\d+\.\d{19}\b", "_PID.TIME"),
    (r"\b(pid|process) \d+", r"\1 PID"),
    (r"[\d,]+ MiB free", "N MiB free"),
    (r"\b\d+(\.\d+)? (ns|us|ms|s|seconds|%)(?![\w])", r"N \2"),
]


def may_mount():
    return not subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode


def where(path):
    return os.path.normpath(os.path.join(GOLDEN, path + ".txt"))


def read(path):
    """The lines about the file, and its commands without what they print."""
    about, commands = [], []
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("#") and not commands:
                about.append(line)
            elif line.startswith("$ "):
                commands.append([line[2:]])
            elif line.startswith("> ") and commands and "<<" in commands[-1][0]:
                commands[-1].append(line[2:])
    return about, commands


def environment(scratch):
    bin_ = os.path.join(scratch, ".bin")
    os.mkdir(bin_)
    os.symlink(prof.LAUNCHER, os.path.join(bin_, "proflaunch"))
    python = os.path.join(prof.BUILD, "venv", "bin", "python")
    if os.path.exists(python):
        # No link: a virtual environment is found by the path it is called by.
        with open(os.path.join(bin_, "python3"), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec {shlex.quote(python)} \"$@\"\n")
        os.chmod(file.name, 0o755)
    path = [bin_, os.path.join(prof.BUILD, "prog"), "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]
    return {"PATH": ":".join(path), "HOME": scratch, "LC_ALL": "C.UTF-8", "TERM": "dumb", "TMPDIR": "/tmp",
            "AGENT": prof.AGENT, "BUILD": prof.BUILD}


def plain(text, scratch, about):
    pairs = [(re.escape(scratch) + r"/\.bin", "BIN"), (re.escape(scratch), "DIR"),
             (re.escape(os.path.realpath(prof.BUILD)), "BUILD"), (re.escape(prof.BUILD), "BUILD"),
             (r"\b" + re.escape(os.uname().nodename) + r"(?=[_:])", "HOST")] + REPLACE
    for line in about:
        if line.startswith("# replace: "):
            pairs.append(tuple(line[len("# replace: "):].split(" => ")))
    for regex, to in pairs:
        text = re.sub(regex, to, text)
    return text


def lacks(about):
    for line in about:
        for need in line[len("# needs: "):].split() if line.startswith("# needs: ") else ():
            there = {"root": not os.getuid(), "mount": may_mount(), "no-gpu": not any(map(os.path.exists, GPU))}
            if not there.get(need, os.path.exists(os.path.join(prof.BUILD, need))):
                return need
    return None


def session(about, commands):
    """The file as it would be written now."""
    lines = list(about)
    with prof.folder() as scratch:
        place = os.path.join(scratch, "here")
        env = environment(scratch)
        os.mkdir(place)
        for command in commands:
            got = subprocess.run(["sh", "-c", "\n".join(command)], cwd=place, env=env, text=True, errors="replace",
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 timeout=PATIENCE_S, check=False)
            lines.append("$ " + "\n> ".join(command))
            lines += plain(got.stdout, place, about).replace(scratch, "DIR").splitlines()
            if got.returncode:
                lines.append(f"[{got.returncode}]")
    return "\n".join(lines) + "\n"


def compare(name, write):
    """None: as it was; else what differs."""
    about, commands = read(where(name))
    if lacks(about):
        return f"skipped, there is no {lacks(about)}"
    now = session(about, commands)
    if write:
        with open(where(name), "w", encoding="utf-8") as file:
            file.write(now)
        return None
    with open(where(name), encoding="utf-8") as file:
        if file.read() == now:
            return None
    return "FAILED\n" + subprocess.run(["diff", "-u", where(name), "-"], input=now, text=True,
                                       capture_output=True, check=False).stdout


def main():
    write = "--write" in sys.argv
    names = [os.path.basename(n).removesuffix(".txt") for n in sys.argv[1:] if n != "--write"]
    failed = 0
    for name in names or sorted(n[:-4] for n in os.listdir(GOLDEN) if n.endswith(".txt")):
        verdict = compare(name, write)
        failed += bool(verdict) and verdict.startswith("FAILED")
        print(f"{name}: {verdict or 'ok'}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
