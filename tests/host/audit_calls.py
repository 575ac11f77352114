#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 120
# run: alone
"""Which system calls are ours: strace of one program bare and in each mode, phase by phase.

What a process does more, or less, than bare must be in the list.  A thread of ours is
allowed in windows of torch, and then its own calls are not the program's.
audit_calls.py [MODE ...]
"""
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import run

# The loader's, for one library more; then the constructor's.
LOAD = set("openat read pread64 newfstatat fstat mmap mprotect munmap close access".split())
MAKE_SPOOL = set("openat read newfstatat fstat ftruncate fcntl rename mmap mprotect munmap close "
                 "membarrier madvise".split())
ALLOWED = {
    "start": LOAD | MAKE_SPOOL,
    "main": {"madvise", "mprotect", "futex"},
    "window": {"madvise", "mprotect", "futex", "mmap", "munmap"},  # the index of stacks, once
    "fork": set(),                  # in the parent
    "forked": MAKE_SPOOL,           # in the child, before fork returns
    "child": {"madvise", "mprotect", "futex", "mmap", "munmap"},
    "exec": {"clone", "mmap", "munmap", "tgkill", "waitid",     # the target is looked at unseen
             "rt_sigprocmask"},     # an impossible one: can the environment be read?
    "wait": {"madvise", "mprotect", "futex"},
    "exit": set(),
}
# Python with torch: what looks for it opens its files in a moment's task. Its own threads make
# some calls as it happens. How many CPUs there are is asked once, as torch's OpenMP has when it was
# loaded.
ALLOWED_TORCH = {
    "start": LOAD | MAKE_SPOOL | {"futex", "brk", "sched_getaffinity"},
    "step": {"madvise", "mprotect", "futex", "mmap", "munmap", "sched_getaffinity"},
    "exit": {"futex"},
}
BY_CHANCE = set("futex brk mmap munmap madvise mprotect sched_yield".split())
TORCH = """
import os, torch
def mark(name):
    try: os.write(-1, name)
    except OSError: pass
torch.set_num_threads(1)
m = torch.nn.Linear(8, 8); o = torch.optim.SGD(m.parameters(), 0.1); x = torch.ones(4, 8)
for _ in range(10):
    mark(b"step")
    m(x).sum().backward(); o.step()
mark(b"exit")
os._exit(0)
"""
PROGRAMS = {
    "1000 allocations": ["$P/phases", "1000"],
    "300000 allocations": ["$P/phases", "300000"],
    "torch": ["/usr/bin/python3", "-c", TORCH],
}
# They ask and change nothing: whose memory this is (a vfork child's is another's), which user
# a target will run for, what limits leave, what a thread is called, where Python's paths begin.
ASKS = set("getpid gettid getuid geteuid uname prlimit64 access newfstatat readlink prctl "
           "statfs getcwd".split())
# A moment's task with a descriptor table of its own makes the spool of a process that was
# seen to need one late.
MOMENT = {"clone", "mmap", "munmap", "membarrier", "rt_sigprocmask", "tgkill", "waitid"}
# Before a fork our thread has to be gone.
PAUSE = {"futex", "nanosleep", "tgkill", "waitid"}
# What pthread_create does in the thread that calls it.
MAKE_THREAD = {"clone3", "mmap", "mprotect", "rt_sigaction", "rt_sigprocmask", "munmap"}
# Without a launcher a thread of ours formats, made at exit if there is none, and is waited for.
FORMATS = MAKE_THREAD | {"futex", "clock_nanosleep", "unlink"}


PROCESSES = 3                       # of the program: itself, its child, and that after exec


def most_threads(mode, program):
    """Without a launcher each process may have three; else only one with torch has one that keeps
    ahead, and a process in mode sample, or with torch, has a moment's task.  An exec has one."""
    if mode == "preload":
        return 3 * PROCESSES + 1
    return (mode == "sample") + 1 + 2 * (program == "torch")


def read_calls(log):
    """(task, call, the rest) in order; a call that another one cut in two is whole again."""
    open_calls = {}
    for line in log:
        task, text = line.rstrip("\n").split(None, 1)
        if text.endswith("<unfinished ...>"):
            open_calls[task] = text[:-len("<unfinished ...>")]
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", text)
        if resumed:
            text = open_calls.pop(task, "") + resumed[1]
        found = re.match(r"(\w+)\((.*)", text)
        if found:
            yield int(task), found[1], found[2]


def count_calls(log):
    """({(process, phase): {call: times}}, threads); processes are program, child, other."""
    lines = list(read_calls(log))
    # Before it strace's own child looks at what it starts.
    del lines[:[name for _, name, _ in lines].index("execve")]
    threads = {int(rest.rsplit("= ", 1)[1]) for _, name, rest in lines
               if name in ("clone", "clone3") and "CLONE_THREAD" in rest and rest[-1].isdigit()}
    mark = {id(line): found[1] for line in lines
            if line[1] == "write" and (found := re.match(r'-1, "(\w+)"', line[2]))}
    names = {line[0]: "child" for line in lines if mark.get(id(line)) == "child"}
    names[lines[0][0]] = "program"
    calls, phase = collections.defaultdict(collections.Counter), {lines[0][0]: "start"}
    for line in lines:
        task, name, rest = line
        if task in threads:
            continue
        now = phase.setdefault(task, "forked")
        if id(line) in mark:
            phase[task] = mark[id(line)]
            continue
        calls[names.get(task, "other"), now][name] += 1
        if name == "execve" and rest.endswith("= 0"):
            phase[task] = "start"
    return calls, len(threads)


def trace(mode, place, program):
    words = [word.replace("$P", place.programs) for word in PROGRAMS[program]]
    with tempfile.TemporaryDirectory(dir=place.top) as home:
        argv = ["strace", "-f", "-q", "-s", "16", "-o", f"{home}/calls", *words]
        subprocess.run(run.wrapped(mode, place, f"{home}/log", argv), cwd=home, check=True,
                       env=run.environment(place, mode, home, 0), timeout=120)
        with open(f"{home}/calls", encoding="utf-8") as log:
            return count_calls(log)


def differences(bare, ours, program, mode):
    with_torch = program == "torch"
    with_thread = with_torch or (mode == "preload" and program.startswith("300000"))
    for key in sorted(set(bare) | set(ours)):
        if key[0] == "other":
            yield f"a process that bare does not have: {sum(ours[key].values())} calls, {key[1]}"
            continue
        allowed = (ALLOWED_TORCH if with_torch else ALLOWED)[key[1]] | ASKS
        allowed = allowed | (MAKE_THREAD if with_thread else set())
        if mode == "sample" or with_torch:      # at the first sample, wherever that falls
            allowed = allowed | MOMENT
        if with_thread and key[1] in ("fork", "exit"):
            allowed = allowed | PAUSE
        if mode == "preload" and key[1] == "exit":
            allowed = allowed | FORMATS
        more, less = ours[key] - bare[key], bare[key] - ours[key]
        if with_torch:
            less = collections.Counter({n: less[n] for n in less if n not in BY_CHANCE})
        for word, which in ("more", {n: more[n] for n in more if n not in allowed}), ("less", less):
            if which:
                yield (f"{key[0]}, {key[1]}: " +
                       ", ".join(f"{which[name]} {name}" for name in sorted(which)) + f" {word}")


def may_trace():
    return not subprocess.run(["strace", "-o", "/dev/null", "true"], check=False,
                              stderr=subprocess.DEVNULL).returncode


def main(modes):
    if not may_trace():
        print("strace may not trace here")
        return 77
    place, failed = run.Place(), 0
    modes = modes or run.USUAL
    jobs = [(mode, place, program) for program in PROGRAMS for mode in ("bare", *modes)]
    try:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            traced = pool.map(lambda job: trace(*job), jobs)
            for program in PROGRAMS:
                bare, theirs = next(traced)
                for mode in modes:
                    ours, threads = next(traced)
                    found = list(differences(bare, ours, program, mode))
                    if threads - theirs > most_threads(mode, program):
                        found.append(f"{threads - theirs} threads of ours")
                    failed += bool(found)
                    print(f"{'FAIL' if found else 'ok':4} {program}, {mode}")
                    for line in found:
                        print("      ", line)
    finally:
        place.remove()
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
