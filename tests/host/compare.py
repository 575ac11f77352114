# SPDX-License-Identifier: Apache-2.0
"""What a run left, made comparable: texts with all that changes from run to run taken out."""
import difflib
import fnmatch
import hashlib
import os
import re
import stat
from collections import Counter

SLOWER, LATER = 4, 1.0      # so many times the bare time, and so many seconds more, is slow

OURS = re.compile(rb"^(?:\x1b\[[0-9;]*m)?proflaunch(?:\[\d+\])?:.*\n?", re.M)
# What a process below the launcher says by itself: no line twice.
AGENTS = re.compile(rb"^(?:\x1b\[[0-9;]*m)?proflaunch\[\d+\]:.*\n?", re.M)

NORMS = {
    "numbers": lambda text: re.sub(rb"\d+", b"N", text),
    "floats": lambda text: re.sub(rb"\d+\.\d+", b"F", text),
    "pids": lambda text: re.sub(rb"\b\d{2,7}\b", b"PID", text),
    "hex": lambda text: re.sub(rb"(?:0x)?[0-9a-fA-F]{6,}", b"HEX", text),
    "times": lambda text: re.sub(rb"\d+[.:]\d+(?:[.:]\d+)?", b"TIME", text),
    "sort": lambda text: b"\n".join(sorted(text.split(b"\n"))),
    "words": lambda text: b" ".join(text.split()),
    "jobs": lambda text: re.sub(rb"(?m)^(Terminated|Killed).*\n?", b"", text),
}


def normal(text, row, places):
    for name, pattern in places:
        text = re.sub(pattern.encode(), name.encode(), text)
    text = re.sub(rb"(==|/proc/)\d+", rb"\1PID", text)
    for pattern in row.sub:
        old, new = pattern[1:-1].split(pattern[0])
        text = re.sub(old.encode(), new.encode(), text, flags=re.M)
    for name in row.norm:
        text = NORMS[name](text)
    return text


def matches(path, patterns):
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


def describe_file(path, name, row, places):
    what = os.lstat(path)
    line = f"{name} {stat.filemode(what.st_mode)} {what.st_uid}:{what.st_gid}"
    if stat.S_ISLNK(what.st_mode):
        return f"{line} -> {os.readlink(path)}"
    if not stat.S_ISREG(what.st_mode) or matches(name, row.names):
        return line
    with open(path, "rb") as file:
        data = file.read()
    if len(data) < 1 << 20 and b"\0" not in data:
        data = normal(data, row, places)
    zeros = f" {data.count(0)} zeros" if len(data) > 1 << 20 else ""
    return f"{line} {len(data)} bytes{zeros} {hashlib.sha256(data).hexdigest()[:16]}"


def describe_files(top, row, places):
    lines = []
    for folder, folders, files in os.walk(top):
        folders.sort()
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            short = os.path.relpath(path, top)
            if not matches(short, row.skip):
                lines.append(describe_file(path, short, row, places))
    return "\n".join(lines).encode()


def facets(seen, work, row, places):
    """{what: text}: equal bare and under us."""
    return {
        "status": seen.status.encode(),
        "stdout": normal(seen.stdout, row, places),
        "stderr": normal(OURS.sub(b"", seen.stderr), row, places),
        "ours": b"".join(line for line, n in Counter(AGENTS.findall(seen.stderr)).items() if n > 1),
        "files": describe_files(work, row, places),
        "left": " ".join(seen.left).encode(),
    }


def printable(line):
    return "".join(c if c.isprintable() else "?" for c in line.decode(errors="replace"))


def short_diff(what, want, got, most=6):
    lines = [printable(line)[:160] for line in difflib.diff_bytes(
        difflib.unified_diff, want.split(b"\n"), got.split(b"\n"), n=0, lineterm=b"")]
    lines = [line for line in lines[2:] if not line.startswith("@@")]
    more = [f"... {len(lines) - most} more"] if len(lines) > most else []
    return [f"{what}: {line}" for line in lines[:most] + more]


def differing(want, got):
    """What is not the same, by the first word of its name."""
    return {what.split()[0] for what, text in want.items() if got[what] != text}


def differences(want, got):
    found = []
    for what, text in want.items():
        if got[what] != text:
            found += short_diff(what, text, got[what])
    return found


def too_slow(bare, seconds):
    return seconds > SLOWER * bare and seconds > bare + LATER
