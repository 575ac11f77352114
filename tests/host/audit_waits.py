#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 900
# run: alone
"""How long the program waits for us: no wait of ours is longer than 100 ms.

strace -k of every call that can wait, in programs that make threads and children, in each
mode; once more with a finisher that is stopped, and with spools in memory.  A call is ours
if it comes out of our library, unless what waits there is the program's malloc, or its own
call handed on.  Waits that follow each other at once are one.  Of a wait counts what was
asked for, or what it took, whichever is less: a busy machine does not make it longer.
Threads of ours may sleep as long as they like.  Plain LD_PRELOAD has 2 s at exit.
audit_waits.py [CASE ...]
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import run

MOST, MOST_ALONE = 0.1, 2.0
TRIES = 3           # a call without a limit of its own is as long as the machine makes it
TOGETHER = 0.002    # seconds between two waits of one
WAITS = ("futex,nanosleep,clock_nanosleep,poll,ppoll,select,pselect6,epoll_wait,epoll_pwait,"
         "wait4,waitid,rt_sigtimedwait,rt_sigsuspend,pause,sendmsg,recvmsg,flock")
TORCH = ("import torch; m = torch.nn.Linear(8, 8); o = torch.optim.SGD(m.parameters(), 0.1); "
         "[(m(torch.ones(4, 8)).sum().backward(), o.step()) for _ in range(8)]")
CUDA = ["env", "LD_LIBRARY_PATH=$P/cuda", "CUDART=$P/cuda/libcudart.so.13"]
CASES = {
    "phases": ["$P/phases", "300000"],
    "storm": ["$P/storm", "40"],
    "handler": ["$P/handler", "fork", "50"],
    "nothread": ["$P/nothread"],
    "children": ["python3", "$P/multi.py", "subprocess"],
    "pool": ["python3", "$P/multi.py", "fork"],
    "threads": ["python3", "$P/multi.py", "threads"],
    "torch": ["/usr/bin/python3", "-c", TORCH],
    "cuda": [*CUDA, "$P/cuda_work", "mixed", "200"],
    "cuda-slow": [*CUDA, "FAKE_ENABLE_MS=700", "$P/cuda_work", "mixed", "200"],
}
# Options beside the mode's, and whether the finisher is stopped all the time.
WAYS = {"": ([], False), "stopped": ([], True), "memory": (["--spool", "memory"], False)}
HEAD = re.compile(r"(\d+)(?:<([^>]*)>)?\s+([\d.]+) (.*)")
# In these of the C library's a thread waits for its own malloc, or fork.
THEIRS = re.compile(r"malloc|alloc|free|fork|_IO_|lll_lock")


class TracerDied(Exception):
    """strace gives up where a task goes while it looks at its stack: nothing of ours."""


class Call:
    def __init__(self, task, name, begin, text, took):
        self.task, self.name, self.begin, self.text, self.took = task, name, begin, text, took
        self.frames = []

    def length(self):
        """Seconds that it may count for."""
        asked = re.search(r"\{tv_sec=(\d+), tv_nsec=(\d+)\}", self.text)
        if "WNOHANG" in self.text or "FUTEX_WAKE" in self.text or "MSG_DONTWAIT" in self.text:
            return 0.0
        if not asked or "ABSTIME" in self.text or "FUTEX_WAIT_BITSET" in self.text:
            return self.took
        return min(self.took, int(asked[1]) + int(asked[2]) / 1e9)

    def is_ours(self):
        for module, symbol in self.frames:
            if module.endswith("libproflaunch.so"):
                if symbol != "syscall":         # the program's own, handed on
                    return True
            elif "libc.so" not in module and "libpthread" not in module:
                return False
            elif THEIRS.search(symbol):
                return False
        return False


def read_calls(path):
    """Calls in the order of their ends; one that another one cut in two is whole again."""
    begun, calls = {}, []
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            frame = re.match(r" > (\S+?)\(([^)+]*)", line)
            if frame and calls:
                calls[-1].frames.append((frame[1], frame[2]))
            head = HEAD.match(line)
            if not head:
                continue
            task, name, at, text = int(head[1]), head[2] or "", float(head[3]), head[4]
            if text.endswith("<unfinished ...>"):
                begun[task] = (at, text[:-len("<unfinished ...>")])
                continue
            if text.startswith("<..."):
                at, first = begun.pop(task, (at, ""))
                text = first + text
            took = re.search(r"<([\d.]+)>$", text)
            calls.append(Call(task, name, at, text, float(took[1]) if took else 0.0))
    return calls


def longest(calls):
    """(seconds, the last call) of the longest wait of ours in a thread of the program."""
    most, last = (0.0, "none"), {}
    for call in sorted((c for c in calls if c.is_ours()), key=lambda c: c.begin):
        if call.name.startswith("proflaunch"):
            continue
        length, (end, sum_so_far) = call.length(), last.get(call.task, (0.0, 0.0))
        total = length + (sum_so_far if call.begin - end < TOGETHER else 0.0)
        last[call.task] = (call.begin + call.took, total)
        if total > most[0]:
            most = (total, call.text)
    return most


def finisher_of(launcher):
    for _ in range(500):
        with open(f"/proc/{launcher}/task/{launcher}/children", encoding="ascii") as file:
            for pid in file.read().split():
                with open(f"/proc/{pid}/comm", encoding="ascii") as comm:
                    if comm.read() == "proflaunch-fin\n":
                        return int(pid)
        time.sleep(0.01)
    raise RuntimeError("there is no finisher")


def run_traced(mode, way, place, words):
    """The log of one run, as calls."""
    options, stopped = WAYS[way]
    with tempfile.TemporaryDirectory(dir=place.top) as home:
        os.makedirs(f"{home}/w/tmp")
        env = run.environment(place, mode, home, 0)
        words = [word.replace("$P", place.programs) for word in words]
        # The shell is part of the program, and starts it when all is as it should be.
        argv = ["strace", "-f", "-qq", "-k", "-T", "-ttt", "-Y", "-s", "0", "-e", "trace=" + WAITS,
                "-e", "signal=none", "-o", f"{home}/calls",
                "sh", "-c", 'read go; exec "$@" > out', "sh", *words]
        whole = run.wrapped(mode, place, f"{home}/log", argv)
        if options:
            whole[1:1] = options
        with open(f"{home}/said", "wb") as said:
            child = subprocess.Popen(whole, cwd=f"{home}/w", env=env, stdin=subprocess.PIPE,
                                     stdout=subprocess.DEVNULL, stderr=said)
        held = finisher_of(child.pid) if stopped else 0
        if held:
            os.kill(held, signal.SIGSTOP)
        child.stdin.write(b"\n")
        child.stdin.close()
        while held and "strace" in names_below(child.pid):
            time.sleep(0.05)
        if held:
            os.kill(held, signal.SIGCONT)
        if child.wait(300):
            with open(f"{home}/said", encoding="utf-8", errors="replace") as said:
                text = said.read()
            if "cannot initialize libunwind" in text:
                raise TracerDied(text)
            raise RuntimeError(f"{words}, {mode}: status {child.returncode}: {text}")
        return read_calls(f"{home}/calls")


def names_below(pid):
    found = set()
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        for child in file.read().split():
            try:
                with open(f"/proc/{child}/comm", encoding="ascii") as comm:
                    found.add(comm.read().strip())
            except OSError:
                pass
    return found


def try_case(case, mode, way, place):
    """(seconds, what) of the best of some tries."""
    most, found = MOST_ALONE if mode == "preload" else MOST, []
    died = 0
    while len(found) < TRIES and not (found and found[-1][0] <= most):
        try:
            found.append(longest(run_traced(mode, way, place, CASES[case])))
        except TracerDied:
            died += 1
            if died > TRIES:
                raise
    return min(found), most


def main(names):
    place, failed = run.Place(), 0
    try:
        for case in names or CASES:
            for mode in ("default", "sample", "all", "preload"):
                for way in WAYS if mode == "all" else [""]:
                    (length, what), most = try_case(case, mode, way, place)
                    failed += length > most
                    print(f"{'FAIL' if length > most else 'ok':4} {case:10} {mode:8} {way:8} "
                          f"{length * 1000:7.1f} ms  {what[:100]}", flush=True)
    finally:
        place.remove()
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
