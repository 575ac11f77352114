#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signals reach the program once, and the job is stopped and continued as a whole."""
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
LAUNCHER = os.path.join(BUILD, "proflaunch")
# Counts what it gets; USR2 is the question how many of each.
PROGRAM = r"""
import os, signal, sys, time
seen = []
for s in ("INT", "TERM", "HUP", "QUIT", "USR1", "WINCH", "ALRM"):
    signal.signal(getattr(signal, "SIG" + s), lambda n, f, s=s: seen.append(s))
done = []
signal.signal(signal.SIGUSR2, lambda n, f: done.append(1))
print("ready", os.getpid(), flush=True)
end = time.time() + 20
while not done and time.time() < end:
    time.sleep(0.01)
print(" ".join(seen), flush=True)
sys.exit(len(seen))
"""


def start(**more):
    scratch = tempfile.TemporaryDirectory()
    child = subprocess.Popen([LAUNCHER, "-q", "--", sys.executable, "-c", PROGRAM],
                             stdout=subprocess.PIPE, text=True, cwd=scratch.name, **more)
    child.scratch = scratch
    child.program = int(child.stdout.readline().split()[1])
    return child


def finish(child):
    time.sleep(0.2)
    os.kill(child.program, signal.SIGUSR2)
    out = child.stdout.read().split()
    return out, child.wait(20)


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0]


def wait_state(pid, wanted):
    for _ in range(200):
        if state(pid) == wanted:
            return
        time.sleep(0.02)
    raise AssertionError(f"process {pid} is {state(pid)}, not {wanted}")


def test_each_signal_is_handed_on_once():
    child = start()
    names = ["TERM", "HUP", "QUIT", "USR1", "WINCH", "INT", "ALRM"]
    for name in names:
        child.send_signal(getattr(signal, "SIG" + name))
        time.sleep(0.1)
    out, status = finish(child)
    assert out == names, out
    assert status == len(names), status


def test_a_signal_that_ends_the_program_ends_the_launcher():
    child = start()
    os.kill(child.program, signal.SIGKILL)
    assert child.wait(20) == -signal.SIGKILL


def read_until(fd, text):
    got = b""
    while text not in got:
        ready, _, _ = select.select([fd], [], [], 20)
        assert ready, got
        got += os.read(fd, 4096)
    return got.decode()


def test_the_terminal_speaks_to_the_program_once():
    with tempfile.TemporaryDirectory() as scratch:
        pid, fd = pty.fork()
        if not pid:
            os.chdir(scratch)
            os.execv(LAUNCHER, [LAUNCHER, "-q", "--", sys.executable, "-c", PROGRAM])
        program = int(read_until(fd, b"\n").split()[1])
        os.write(fd, b"\x03")           # ^C
        time.sleep(0.3)
        os.kill(program, signal.SIGUSR2)
        out = read_until(fd, b"INT")
        _, status = os.waitpid(pid, 0)
        os.close(fd)
    assert out.count("INT") == 1, out
    assert os.waitstatus_to_exitcode(status) == 1, status


def test_stopping_and_continuing_is_for_both():
    child = start(preexec_fn=os.setpgrp)   # a group that is not orphaned: it can be stopped
    child.send_signal(signal.SIGTSTP)
    wait_state(child.program, "T")
    wait_state(child.pid, "T")
    child.send_signal(signal.SIGCONT)
    wait_state(child.program, "S")
    out, status = finish(child)
    assert (out, status) == ([], 0), (out, status)


def test_stopping_the_program_alone_is_its_own_affair():
    child = start()
    os.kill(child.program, signal.SIGSTOP)
    wait_state(child.program, "T")
    time.sleep(0.1)
    assert state(child.pid) == "S", state(child.pid)
    os.kill(child.program, signal.SIGCONT)
    out, status = finish(child)
    assert (out, status) == ([], 0), (out, status)


def test_what_was_ignored_is_for_the_program_to_handle():
    child = start(preexec_fn=lambda: [signal.signal(n, signal.SIG_IGN)
                                      for n in (signal.SIGHUP, signal.SIGPIPE)])
    child.send_signal(signal.SIGHUP)
    child.send_signal(signal.SIGPIPE)           # that it ignores still
    out, status = finish(child)
    assert (out, status) == (["HUP"], 1), (out, status)


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print("ok", name)


main()
