#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
# run: alone
"""What /proc shows of a running program at 100 random moments: nothing of ours.

No descriptor that bare does not have, at most one thread more, and that one named proflaunch.
audit_proc.py [MODE ...]
"""
import os
import random
import subprocess
import sys
import tempfile
import time

import run

MOMENTS = 100
PYTHON = "/usr/bin/python3"


def read_link(path):
    try:
        return os.readlink(path).split("[")[0].split(":")[0]
    except OSError:
        return None


def look(pid):
    """({descriptor: what}, [names of tasks]) of this moment."""
    descriptors = {fd: read_link(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    names = []
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8") as file:
                names.append(file.read().strip())
        except OSError:
            pass
    return {(fd, to) for fd, to in descriptors.items() if to}, names


def watch(mode, place, words):
    """(all descriptors seen, most tasks of the program's at once, most of ours)."""
    with tempfile.TemporaryDirectory(dir=place.top) as home:
        os.mkdir(f"{home}/w")
        argv = [PYTHON, f"{place.programs}/linger.py", *words]
        process = subprocess.Popen(run.wrapped(mode, place, f"{home}/log", argv), text=True,
                                   cwd=f"{home}/w", env=run.environment(place, mode, home, 0),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        pid = int(process.stdout.readline().split()[1])
        seen, most, ours = set(), 0, 0
        for _ in range(MOMENTS):
            time.sleep(random.uniform(0, 0.06))
            try:
                descriptors, names = look(pid)
            except OSError:
                break
            named = sum(name.startswith("proflaunch") for name in names)
            seen, most, ours = seen | descriptors, max(most, len(names) - named), max(ours, named)
        if process.wait(120):
            raise RuntimeError(f"{mode}: status {process.returncode}")
        process.stdout.close()
        return seen, most, ours


def main(modes):
    place, failed = run.Place(), 0
    try:
        for words in ([], ["torch"]):
            bare, tasks, _ = watch("bare", place, words)
            for mode in modes or run.USUAL:
                seen, most, ours = watch(mode, place, words)
                found = [f"descriptor {fd} is {to}" for fd, to in sorted(seen - bare)]
                found += [f"{most} tasks for {tasks}"] * (most > tasks)
                found += [f"{ours} threads of ours"] * (ours > (3 if mode == "preload" else 1))
                failed += bool(found)
                print(f"{'FAIL' if found else 'ok':4} linger {' '.join(words)} {mode}", flush=True)
                for line in found:
                    print("      ", line, flush=True)
    finally:
        place.remove()
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
