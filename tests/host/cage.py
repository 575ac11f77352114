# SPDX-License-Identifier: Apache-2.0
"""One command in a cage: its own session, a time limit, and nothing of it left behind.

The process that calls this is the subreaper of all that the command starts, so that a
daemon is seen and ended, too.  One command at a time in each process.
"""
import ctypes
import os
import signal
import subprocess
import threading
import time

PR_SET_CHILD_SUBREAPER = 36
GRACE = 8           # seconds that orphans have, after the command, to end by themselves
MOST = 64 << 20     # bytes of output that are kept


class Seen:
    """What one run left to be looked at: texts, but for seconds."""

    def __init__(self):
        self.status, self.stdout, self.stderr, self.left = "", b"", b"", []
        self.seconds, self.ours_left = 0.0, False


def become_reaper():
    """For the process that runs cages; what a shell ignores in the background is heard again."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_all)
    for number in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def process_name(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
        name, state = text[text.index("(") + 1:text.rindex(")")], text.rsplit(") ", 1)[1][0]
        # One whose main thread has left is a zombie to look at, but for its other threads.
        ended = state == "Z" and len(os.listdir(f"/proc/{pid}/task")) < 2
        return None if ended else name
    except (OSError, ValueError):
        return None


def descendants(pid):
    """All processes below pid, {pid: name}, without zombies."""
    found = {}
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                children = [int(c) for c in file.read().split()]
        except OSError:
            continue
        for child in children:
            name = process_name(child)
            if name is not None:
                found[child] = name
            found.update(descendants(child))
    return found


def reap_orphans():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def wait_for(process, limit):
    """Its status; orphans are reaped meanwhile.  None when the limit has passed."""
    until, ended = time.monotonic() + limit, os.WEXITED | os.WNOHANG | os.WNOWAIT
    while time.monotonic() < until:
        found = os.waitid(os.P_ALL, 0, ended)
        if not found:
            time.sleep(0.004)
        elif found.si_pid == process.pid:
            return process.wait()
        else:
            os.waitpid(found.si_pid, 0)
    return None


def kill_all():
    for _ in range(200):
        left = descendants(os.getpid())
        if not left:
            break
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.02)
        reap_orphans()


def end_all(*_):
    kill_all()
    os._exit(130)


def read_all(stream, parts, ended):
    room = MOST
    while data := os.read(stream.fileno(), 1 << 16):
        if room > 0:
            parts.append(data[:room])
        room -= len(data)
    ended.append(time.monotonic())


def say_status(code):
    if code >= 0:
        return f"exit {code}"
    return f"signal {signal.Signals(-code).name}"


def wait_for_orphans():
    """The names of what still runs a while after the command: the program's, and ours."""
    until = time.monotonic() + GRACE
    while True:
        reap_orphans()
        names = sorted(descendants(os.getpid()).values())
        if not names or time.monotonic() > until:
            break
        time.sleep(0.05)
    ours = [n for n in names if n.startswith("proflaunch")]
    return [n for n in names if n not in ours], bool(ours)


def run(argv, env, cwd, limit):
    seen, ended, parts = Seen(), [], ([], [])
    start = time.monotonic()
    process = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    readers = [threading.Thread(target=read_all, args=(stream, kept, ended), daemon=True)
               for stream, kept in zip((process.stdout, process.stderr), parts)]
    for reader in readers:
        reader.start()
    status = wait_for(process, limit)
    seen.status = "no end in time" if status is None else say_status(status)
    if status is None:
        kill_all()
        process.wait()
    ended.append(time.monotonic())
    for reader in readers:
        reader.join(GRACE)
    if any(reader.is_alive() for reader in readers):
        seen.left.append("(a pipe is held)")
        ended.append(time.monotonic())
    seen.seconds = max(ended) - start
    if not seen.status.startswith("no end"):
        names, seen.ours_left = wait_for_orphans()
        seen.left += names
    kill_all()
    for reader in readers:
        reader.join(5)
    process.stdout.close()
    process.stderr.close()
    seen.stdout, seen.stderr = b"".join(parts[0]), b"".join(parts[1])
    return seen
