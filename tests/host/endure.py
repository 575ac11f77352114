#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 900
# run: alone
"""What may happen to a finisher in a minute, and what the program notices of it: nothing.

endure.py killed      the finisher is killed every second of a minute's run
endure.py stopped     ... stopped for 30 s
endure.py group       a control group that the program nearly fills
endure.py scribbled   10^6 random bytes all over page and spools, under AddressSanitizer
endure.py many        3,000 short processes: the disk at most; what the launcher needs
"""
import contextlib
import glob
import os
import random
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

import prof                                     # noqa: E402
from finisher import HEAP, children, end, files, finisher, jobs, load, shell, start, until, words  # noqa: E402

STEPS = os.path.join(prof.BUILD, "host", "steps")
WINDOW = 5                                      # steps of a window
OPTIONS = {"malloc": "all", "marker": "auto", "schedule": f"active={WINDOW}"}
SCRIBBLES = 1000000


def measure(words):
    begin = time.monotonic()
    done = prof.plain(words)
    assert not done.returncode, done
    return done.stdout, time.monotonic() - begin


class Watched:
    """A command beside its bare self: what it says, when it ends, and which windows come."""

    def __init__(self, log, command, wrap=()):
        self.log = log
        self.bare, self.bare_seconds = measure([*wrap, *command])
        self.begin = time.monotonic()
        self.run = subprocess.Popen([*wrap, *words(log, command, **OPTIONS)], text=True,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE)
        until(lambda: "steps" in children(self.run.pid))

    def is_running(self):
        """The command, not its launcher."""
        return "steps" in children(self.run.pid)

    def command_ends(self):
        until(lambda: not self.is_running(), 600)
        return time.monotonic() - self.begin

    def check(self, seconds, windows, lost=""):
        """`lost`: why records are missing."""
        out, err = end(self.run)
        print(f"{seconds:.1f} s for {self.bare_seconds:.1f} bare, {len(files(self.log))} windows\n{err}")
        assert out == self.bare, (out, self.bare)
        # All of it is sleep; what a busy machine adds is no wait for a finisher.
        assert seconds < 1.1 * self.bare_seconds + 2, (seconds, self.bare_seconds)
        assert windows <= len(files(self.log)) <= windows + 1, (len(files(self.log)), windows, err)
        whys = {why for path in files(self.log)
                for why in load(path)["proflaunch"].get("drop reasons", {})}
        assert whys == ({lost} if lost else set()), (whys, err)
        assert not jobs(self.log), err
        prof.strict(files(self.log))


def killed():
    with prof.folder() as log:
        watched, kills = Watched(log, [STEPS, "600", "100"]), 0
        while watched.is_running():
            pid = children(watched.run.pid).get("proflaunch-fin")
            with contextlib.suppress(ProcessLookupError):
                if pid:
                    os.kill(pid, signal.SIGKILL)
                    kills += 1
            time.sleep(1)
        seconds = watched.command_ends()
        print(f"{kills} finishers killed")
        # From one to the next the launcher waits longer and longer.
        assert kills >= 4, kills
        watched.check(seconds, 600 // WINDOW)


def stopped():
    with prof.folder() as log:
        watched = Watched(log, [STEPS, "400", "100"])
        pid = finisher(watched.run)
        time.sleep(3)
        before = len(files(log))
        os.kill(pid, signal.SIGSTOP)
        time.sleep(30)
        assert watched.is_running() and len(files(log)) <= before + 1, (before, files(log))
        os.kill(pid, signal.SIGCONT)
        seconds = watched.command_ends()
        watched.check(seconds, 400 // WINDOW)


# ---- a control group ----

@contextlib.contextmanager
def group(limit):
    """A folder of cgroup v1 or v2 with that much memory, and no swap."""
    for base, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                       ("/sys/fs/cgroup", "memory.max")):
        path = f"{base}/proflaunch.{os.getpid()}"
        with contextlib.suppress(OSError):
            os.mkdir(path)
            with open(f"{path}/{name}", "w", encoding="ascii") as file:
                file.write(str(limit))
            break
        with contextlib.suppress(OSError):
            os.rmdir(path)
    else:
        raise prof.Skip("no control group with a limit of memory can be made here")
    try:
        yield path
    finally:
        def is_gone():
            with contextlib.suppress(OSError):
                os.rmdir(path)
            return not os.path.exists(path)
        until(is_gone)


def group_kills(path):
    for name in ("memory.oom_control", "memory.events"):
        with contextlib.suppress(OSError), open(f"{path}/{name}", encoding="ascii") as file:
            for line in file:
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    return 0


def in_group(path):
    return ["sh", "-c", f'echo $$ > {path}/cgroup.procs; exec "$@"', "sh"]


def small_group():
    """What the program leaves is too little to write a window: that waits for its end."""
    limit, held = 256, 236
    with prof.folder() as log, group(limit << 20) as path:
        # 12 windows of 150,000 allocations.
        watched = Watched(log, [STEPS, "60", "500", str(held), "30000"], in_group(path))
        seconds = watched.command_ends()
        print(f"{group_kills(path)} killed by the group")
        watched.check(seconds, 60 // WINDOW, "control group nearly full")


# ---- random bytes ----

def scribble(folder, seed, least):
    """Random bytes all over page and spools, so many at least."""
    for path in glob.glob(os.path.join(folder, "*")):
        with contextlib.suppress(OSError), open(path, "r+b", buffering=0) as file:
            size = os.path.getsize(path)
            if not path.endswith("page"):       # what it holds, not its holes
                size = max(os.stat(path).st_blocks * 512, 65536)
            for _ in range(least):
                # The first bytes say what it is at all.
                os.pwrite(file.fileno(), seed.randbytes(1), seed.randrange(16, size))
            yield least


def scribbled():
    """By a launcher, and finisher, that AddressSanitizer watches; the agent is as it is."""
    seed, count = random.Random(12), 0
    with prof.folder() as log, prof.folder() as ours:
        shutil.copy2(f"{prof.BUILD}-address/proflaunch", ours)
        shutil.copy2(prof.AGENT, ours)
        prof.LAUNCHER = os.path.join(ours, "proflaunch")
        os.environ["ASAN_OPTIONS"] = f"detect_leaks=0:log_path={ours}/asan"
        while count < SCRIBBLES:
            # What is scribbled over may well crash itself, the shell, too: then it begins anew.
            run = start(log, shell("while true; do lives 20000 500; lives 300 0; done"), **HEAP)
            pid = finisher(run)
            folder = until(lambda: jobs(log))[0]
            while count < SCRIBBLES and run.poll() is None:
                count += sum(scribble(folder, seed, 2000))
            if run.poll() is None:
                assert finisher(run) == pid     # it is the first one still
                run.terminate()
            _, err = run.communicate(timeout=300)
            found = [open(path, encoding="utf-8").read() for path in glob.glob(f"{ours}/asan*")]
            print(f"{count} bytes, {len(files(log))} files\n{err}")
            assert not found, found[0][:6000]
            assert "ended while it read this" not in err, err
        for path in files(log):
            load(path)


# ---- many processes ----

def disk_of(folder):
    """Bytes of blocks below it, as they are at this moment."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(where, name)).st_blocks * 512
    return total


def status_of(pid, key):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key))


def many(count=3000):
    """Disk at most 200 MiB, whenever one looks, and a launcher that does not grow."""
    with prof.folder() as log:
        run = start(log, shell(f"sleep 0.2; for i in $(seq {count}); do lives 200 0 > {log}/out; done"))
        finisher(run)
        begin, ended, most = time.monotonic(), 0, 0
        first = last = status_of(run.pid, "VmRSS")
        while run.poll() is None:
            most = max(most, disk_of(log))
            with contextlib.suppress(OSError, StopIteration):
                last = status_of(run.pid, "VmRSS")
            if not ended and "sh" not in children(run.pid):
                ended = time.monotonic()
            time.sleep(0.02)
        _, err = end(run)
        print(f"disk at most {most >> 20} MiB, in the end {disk_of(log) >> 20}; launcher {first} to "
              f"{last} KiB; command {ended - begin:.1f} s, its own end "
              f"{time.monotonic() - ended:.1f} s\n{err}")
        assert most <= 200 << 20, most
        assert last <= first + 512, (first, last)


WAYS = {"killed": killed, "stopped": stopped, "group": small_group, "scribbled": scribbled,
        "many": many}

if __name__ == "__main__":
    try:
        for word in sys.argv[1:] or WAYS:
            print(f"{word}:", flush=True)
            WAYS[word]()
    except prof.Skip as reason:
        print(reason)
        sys.exit(77)
