#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""What launcher and finisher take from the machine while the command runs."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

import prof
from finisher import LIVES, children, end, finisher, names, shell, start, until, words


def disk_of(folder):
    """Bytes of blocks below it, as they are at this moment."""
    total = 0
    for where, _, here in os.walk(folder):
        for name in here:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(where, name)).st_blocks * 512
    return total


def resident_kib(pid):
    """0: it has gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


def watch_many(count):
    """(bytes of disk at most, the launcher's first and largest KiB) of so many processes."""
    with prof.folder() as log:
        # Before the first and after the last of them the launcher is looked at in peace.
        run = start(log, shell(f"sleep 0.2; for i in $(seq {count}); do lives 200 0; done; sleep 0.2"))
        finisher(run)
        first, disk, most = resident_kib(run.pid), 0, 0
        while run.poll() is None:
            disk, most = max(disk, disk_of(log)), max(most, resident_kib(run.pid))
            time.sleep(0.02)
        out, err = end(run)
        assert out == "over\n" * count, err
        print(f"{count} processes: disk at most {disk >> 20} MiB, the launcher {first} to {most} KiB")
        return disk, first, most


def test_many_short_processes_leave_little():
    """Each ended one would hold 5 MiB until the end; and the launcher knows none of them."""
    disk, first, most = watch_many(500)
    assert disk <= 200 << 20, disk
    assert 0 < first <= most <= first + 512, (first, most)


def nices(pid):
    """{task: nice}"""
    found = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/stat", encoding="ascii") as file:
            found[int(task)] = int(file.read().rpartition(") ")[2].split()[16])
    return found


def test_who_writes_gives_way_while_the_command_runs():
    """One thread writes, at nice 19; the other one only looks. When the command has ended
    somebody waits, and both are as nice as the caller is, and no less."""
    if os.getuid():
        raise prof.Skip("only root may take a priority back")
    with prof.folder() as log:
        normal = os.nice(3)
        try:
            run = start(log, shell("for i in 1 2 3; do lives 400000 0; done"))
        finally:
            os.nice(-3)
        pid = finisher(run)
        until(lambda: 19 in nices(pid).values())
        while "sh" in children(run.pid):
            found = nices(pid)
            assert len(found) <= 2 and found[pid] == normal, found
            assert len(children(pid)) <= 1, children(pid)   # who looks up names
        last = None
        with contextlib.suppress(OSError):                  # it has gone
            while True:
                found = list(nices(pid).values())
                last = found if len(found) == 2 else last   # fewer: it is about to go
        assert last == [normal, normal], last
        _, err = end(run)
        assert names(log).count("lives") == 3, (names(log), err)


def group_nice(pid):
    """Of the session; None where sessions have no shares of the processor."""
    with contextlib.suppress(OSError, IndexError):
        with open(f"/proc/{pid}/autogroup", encoding="ascii") as file:
            return int(file.read().split()[-1])
    return None


ASK = """import sys, time
end_at = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end_at:
    with open("/proc/self/autogroup", "w", encoding="ascii") as file:
        file.write("0")
    time.sleep(0.02)"""


def ask_for_ours(seconds):
    """Linux answers such a question ten times a second; of root's each one.
    A session of its own asks: the one that init began has no share."""
    return subprocess.Popen([sys.executable, "-c", ASK, str(seconds)], start_new_session=True)


def test_who_is_not_root_has_its_share_back_as_well():
    """The first question, when the command ends, may come just after another one."""
    if os.getuid():
        raise prof.Skip("only root can be somebody else")
    if not os.path.exists("/proc/self/autogroup"):
        raise prof.Skip("sessions have no shares here")
    with prof.folder() as log, prof.folder() as ours:
        for path in (prof.LAUNCHER, prof.AGENT, LIVES):
            shutil.copy2(path, ours)
        os.chmod(ours, 0o755)
        os.chmod(log, 0o777)
        launcher, lives = (os.path.join(ours, name) for name in ("proflaunch", "lives"))
        run = subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                launcher, *words(log, ["sh", "-c", f"{lives} 300000 0; read go"])[1:]],
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
        pid = finisher(run)
        assert not ask_for_ours(0.5).wait()     # its own first question is in vain
        until(lambda: group_nice(pid) == 19)
        os.kill(pid, signal.SIGSTOP)
        asker = ask_for_ours(1)
        time.sleep(0.2)
        run.stdin.write("\n")
        run.stdin.close()
        assert not asker.wait()
        until(lambda: group_nice(pid) == 0, 10)
        os.kill(pid, signal.SIGCONT)
        assert not run.wait(60), run.stderr.read()
        run.stderr.close()
        assert "lives" in names(log), names(log)


prof.main(sys.modules[__name__])
