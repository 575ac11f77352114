# SPDX-License-Identifier: Apache-2.0
"""What the tests of the finisher share: jobs, their processes, and what they leave."""
import contextlib
import glob
import json
import os
import signal
import subprocess
import time

import prof

LIVES = prof.prog("lives")
HEAP = {"marker": "none", "malloc": "all"}


def words(log, command, **given):
    return [prof.LAUNCHER, "--logdir", log, *prof.options(**{**HEAP, **given}), "--", *command]


def start(log, command, **given):
    return subprocess.Popen(words(log, command, **given), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            errors="replace")


def until(what, seconds=60):
    """Waits for something to become true; returns what it is then."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        got = what()
        if got:
            return got
        time.sleep(0.02)
    raise AssertionError("it never came")


def stopped_when(pid, what, seconds=60):
    """Stops a process at a moment at which something is true: it goes on for 2 ms at a time."""
    end = time.monotonic() + seconds
    while True:
        os.kill(pid, signal.SIGSTOP)
        while " T " not in read(f"/proc/{pid}/stat"):
            time.sleep(0.0005)
        if what():
            return
        assert time.monotonic() < end, "it never came"
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.002)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def is_reading(pid):
    """A finisher with the records of a large process in its memory: it makes their file."""
    return int(read(f"/proc/{pid}/status").partition("RssAnon:")[2].split()[0]) > 20 << 10


def files(log, where=""):
    """Whole ones: what is being written ends in .part."""
    return sorted(path for path in glob.glob(os.path.join(log, where, "*.pt.trace.json*"))
                  if not path.endswith(".part"))


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def names(log):
    """exe of each file's process"""
    return sorted(load(path)["proflaunch"]["process"]["name"] for path in files(log))


def jobs(log):
    return glob.glob(os.path.join(log, ".proflaunch", "*"))


def children(pid):
    """Pids of processes whose parent it is, and what they are called."""
    found = {}
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            with open(f"/proc/{int(entry)}/stat", encoding="utf-8") as file:
                head, _, tail = file.read().rpartition(")")
            if int(tail.split()[1]) == pid and tail.split()[0] != "Z":
                found[head.partition("(")[2]] = int(entry)
    return found


def finisher(launcher):
    return until(lambda: children(launcher.pid).get("proflaunch-fin"))


def gone(pid):
    """It has ended; who has it now may not have asked for its status yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            state = file.read().rpartition(")")[2].split()[0]
        # Its first thread may have ended before the others.
        return state in "ZX" and len(os.listdir(f"/proc/{pid}/task")) == 1
    except OSError:
        return True


def end(process, status=0):
    out, err = process.communicate(timeout=300)
    assert process.returncode == status, (process.returncode, out, err)
    return out, err


def shell(text):
    return ["sh", "-c", text.replace("lives", LIVES)]
