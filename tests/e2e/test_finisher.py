#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
# run: waits
"""The finisher makes files while the command runs, and may die, hang, or be left alone."""
import contextlib
import glob
import os
import random
import signal
import subprocess
import sys
import time

import prof
from finisher import (HEAP, LIVES, children, end, files, finisher, gone, is_reading, jobs, load, names,
                      shell, start, stopped_when, until, words)


def test_files_are_there_while_the_command_runs():
    with prof.folder() as log:
        os.mkfifo(os.path.join(log, "go"))
        run = start(log, [*shell("lives 10 0; read line < $0/go; true"), log])
        until(lambda: "lives" in names(log))
        with open(os.path.join(log, "go"), "w", encoding="utf-8") as file:
            file.write("\n")
        end(run)
        assert names(log) == ["lives", "sh"], names(log)
        assert not jobs(log)


def test_killed_all_the_time():
    """Whatever a finisher was in the middle of, the next one makes whole."""
    with prof.folder() as log:
        run = start(log, shell("for i in 1 2 3 4 5 6; do lives 20000 300; done"))
        for _ in range(8):
            with contextlib.suppress(ProcessLookupError, AssertionError):
                os.kill(finisher(run), signal.SIGKILL)
            time.sleep(0.5)
            if run.poll() is not None:
                break
        out, err = end(run)
        assert out == "over\n" * 6
        assert names(log).count("lives") == 6, (names(log), err)
        assert not jobs(log), err
        prof.strict(files(log))
        assert not glob.glob(os.path.join(log, "*.part"))


def test_killed_in_the_end():
    """Between a file and the word that it is there, as often as that can be hit."""
    seed = random.Random(11)
    with prof.folder() as log:
        run = start(log, shell("for i in $(seq 300); do lives 1 0; done"), children="each")
        pid = finisher(run)
        os.kill(pid, signal.SIGSTOP)
        until(lambda: not [n for n in children(run.pid) if n != "proflaunch-fin"])
        for _ in range(40):
            with contextlib.suppress(ProcessLookupError, AssertionError):
                os.kill(pid, signal.SIGKILL)
                pid = until(lambda: children(run.pid).get("proflaunch-fin"), 5)
                # Eight in a row without a file would be a spool that kills finishers.
                before = len(files(log))
                until(lambda: len(files(log)) > before, 5)
            time.sleep(seed.uniform(0, 0.005))
        _, err = end(run)
        assert names(log).count("lives") == 300, (names(log).count("lives"), err)
        assert not jobs(log), err


def test_what_kills_a_finisher_is_left_to_recover():
    with prof.folder() as log:
        run = start(log, shell("lives 800000 0; lives 100 0; sleep 3"))
        pid = finisher(run)
        stopped_when(pid, lambda: is_reading(pid))
        os.kill(pid, signal.SIGSEGV)        # as if the spool had done that
        os.kill(pid, signal.SIGCONT)
        _, err = end(run)
        assert "a finisher ended while it read this: left to recover" in err, err
        assert "the records of 1 process could not be finished" in err, err
        assert glob.glob(os.path.join(jobs(log)[0], "page"))    # who led whom, for recover
        assert names(log).count("lives") == 1, names(log)
        assert not glob.glob(os.path.join(log, "*.part"))
        again = prof.plain([prof.LAUNCHER, "recover", log])
        assert again.returncode == 0, again.stderr
        assert names(log).count("lives") == 2, (names(log), again.stderr)
        assert not jobs(log)


def test_what_kills_a_finisher_in_memory_is_tried_again():
    """Nobody else could: recover finds files alone."""
    with prof.folder() as log:
        run = start(log, shell("lives 800000 0; lives 100 0; sleep 3"), spool="memory")
        pid = finisher(run)
        stopped_when(pid, lambda: is_reading(pid))
        os.kill(pid, signal.SIGSEGV)
        os.kill(pid, signal.SIGCONT)
        _, err = end(run)
        assert "recover" not in err and "lost" not in err.split("itself", 1)[1], err
        assert names(log).count("lives") == 2, (names(log), err)


def test_one_that_somebody_ends_is_followed_by_another():
    """It was not the spool that did it: that is read again."""
    with prof.folder() as log:
        run = start(log, shell("lives 800000 0; lives 100 0; sleep 3"))
        pid = finisher(run)
        until(lambda: "lives" in children(until(lambda: children(run.pid).get("sh"))))
        until(lambda: "lives" not in children(children(run.pid)["sh"]))
        time.sleep(0.25)                    # it has found that, and begun to read
        os.kill(pid, signal.SIGTERM)
        _, err = end(run)
        assert "left to recover" not in err and "could not be finished" not in err, err
        assert names(log).count("lives") == 2, (names(log), err)
        assert not jobs(log)


def test_stopped_for_a_while():
    with prof.folder() as log:
        run = start(log, shell("for i in 1 2 3 4 5; do lives 100 100; done"))
        pid = finisher(run)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(3)
        assert run.poll() is None       # it waits, the program does not
        assert not [n for n in children(run.pid) if n != "proflaunch-fin"], children(run.pid)
        os.kill(pid, signal.SIGCONT)
        end(run)
        assert names(log).count("lives") == 5, names(log)


def test_progress_is_for_terminals():
    """What is stopped cannot be done before that has come."""
    with prof.folder() as log:
        ours, theirs = os.openpty()
        run = subprocess.Popen(words(log, shell("lives 100 0")), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        pid = finisher(run)
        os.kill(pid, signal.SIGSTOP)
        text = b""
        while b"\rproflaunch: finishing" not in text:
            text += os.read(ours, 1000)
        os.kill(pid, signal.SIGCONT)
        with contextlib.suppress(OSError):      # nobody has the other end any more
            while more := os.read(ours, 1000):
                text += more
        assert run.wait(60) == 0
        last = text.rindex(b"finishing")
        assert b"\r\033[K" in text[last:] and b"trace files in" in text[last:], text
        os.close(ours)


def test_twice_interrupted_in_the_end():
    with prof.folder() as log:
        run = start(log, shell("lives 100 0; lives 100 700"))
        pid = finisher(run)
        os.kill(pid, signal.SIGSTOP)
        until(lambda: not [n for n in children(run.pid) if n != "proflaunch-fin"])
        time.sleep(1)
        run.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert run.poll() is None
        run.send_signal(signal.SIGINT)
        _, err = end(run)
        assert "the records of 3 processes are still to be written; ^C again leaves them" in err, err
        assert "the records of 3 processes could not be finished" in err and "finishing" not in err, err
        again = prof.plain([prof.LAUNCHER, "recover", log])
        assert again.returncode == 0, again.stderr
        assert names(log).count("lives") == 2, (names(log), again.stderr)
        assert not jobs(log)


def test_without_its_launcher():
    """Nobody is there to be told; the files come all the same."""
    with prof.folder() as log:
        run = start(log, ["setsid", *shell("lives 10 1500")], outlive="on")
        pid = finisher(run)
        run.kill()
        run.communicate(timeout=60)
        until(lambda: gone(pid))
        assert "lives" in names(log) or not files(log), names(log)
        assert not jobs(log)
        assert not [p for p in os.listdir(log) if p.endswith(".part")]


def test_a_daemon_goes_on():
    """The launcher does not wait for it, nor does who reads our output."""
    with prof.folder() as log:
        line = " ".join(words(log, [LIVES, "10", "4000", "daemon"])) + " 2>&1 | cat"
        begin = time.monotonic()
        piped = prof.plain(["sh", "-c", line])
        assert "1 process still running" in piped.stdout, piped.stdout
        before = len(files(log))
        assert jobs(log) and time.monotonic() - begin < 60
        until(lambda: not jobs(log))
        assert len(files(log)) == before + 1, (files(log), before)
        with open(os.path.join(log, "proflaunch.log"), encoding="utf-8") as file:
            assert "go on" in file.read()


LATE = ["sh", "-c", f"(sleep 1; exec {LIVES} 30000 300) < /dev/null > /dev/null 2>&1 & true"]


def test_who_records_later_is_waited_for():
    """It has no spool before its first sample: long after the command has ended."""
    with prof.folder() as log:
        _, err = end(start(log, LATE, malloc="sample"))
        assert "1 process still running" in err and "nothing was recorded" not in err, err
        assert jobs(log)
        until(lambda: not jobs(log))
        assert names(log).count("lives") == 1, names(log)   # sh or sleep may draw a sample, too


def test_who_records_later_is_left_alone():
    with prof.folder() as log:
        _, err = end(start(log, LATE, malloc="sample", linger=False))
        assert f"proflaunch recover {log} finishes" in err, err
        until(lambda: "a process of it is still running" in
              prof.plain([prof.LAUNCHER, "recover", log]).stderr)
        until(lambda: glob.glob(os.path.join(log, "*.json")))   # it has made that itself

        def over():
            return "left alone" not in prof.plain([prof.LAUNCHER, "recover", log]).stderr
        until(over)
        assert names(log).count("lives") == 1, names(log)   # sh or sleep may draw a sample, too
        assert not jobs(log), jobs(log)


def test_nobody_lingers():
    with prof.folder() as log:
        run = start(log, [LIVES, "10", "3000", "daemon"], linger=False)
        _, err = end(run)
        assert f"proflaunch recover {log} finishes" in err, err
        before = len(files(log))
        again = prof.plain([prof.LAUNCHER, "recover", log])
        assert "is still running" in again.stderr, again.stderr
        assert len(files(log)) == before

        def over():
            return "left alone" not in prof.plain([prof.LAUNCHER, "recover", log]).stderr
        until(over)
        assert len(files(log)) == before + 1
        assert not jobs(log)


def test_two_in_one_directory():
    with prof.folder() as log:
        runs = [start(log, shell(f"lives {n} 300; lives {n} 100")) for n in (10, 20)]
        for run in runs:
            out, err = end(run)
            assert out == "over\n" * 2 and "failed" not in err, err
        assert names(log).count("lives") == 4, names(log)
        assert not jobs(log)


def test_recover_leaves_a_live_job():
    with prof.folder() as log:
        run = start(log, shell("lives 10 0; sleep 2; lives 10 0"))
        until(lambda: jobs(log))
        finisher(run)
        again = prof.plain([prof.LAUNCHER, "recover", log])
        assert "left to the proflaunch that is running it" in again.stderr, again.stderr
        end(run)
        assert names(log).count("lives") == 2, names(log)


def test_no_place_for_spools():
    with prof.folder() as log:
        run = prof.launch([LIVES, "1", "0"], log, spool="/proc/none/", check=False, **HEAP)
        assert (run.status, run.out) == (2, ""), run.err
        run = prof.launch([LIVES, "1", "0"], log, spool="/proc/none/", keep_going=True, **HEAP)
        assert run.out == "over\n"
        assert "runs without being profiled" in run.err, run.err


def test_a_full_disk():
    """What has no room says so; the rest is finished once there is some."""
    if os.getuid():
        raise prof.Skip("only root can mount a small disk")
    with prof.folder() as spools, prof.folder() as log:
        disk = os.path.join(log, "small")
        os.mkdir(disk)
        if prof.plain(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk]).returncode:
            raise prof.Skip("no mount here")
        try:
            run = prof.launch([LIVES, "1000", "0"], disk, spool=spools + "/", **HEAP)
            assert run.out == "over\n"
            assert "No space left on device" in run.err, run.err
            assert "the disk was full: 0 of 1 file is complete; make room, then proflaunch recover" in run.err, \
                run.err
            again = prof.plain([prof.LAUNCHER, "recover", "--output", log,
                                *glob.glob(spools + "/*")])
            assert again.returncode == 0, again.stderr
            assert names(log) == ["lives"], (files(log), again.stderr)
        finally:
            prof.plain(["umount", disk])


def scribble(folder, end):
    """Random bytes all over page and spools until then; how many."""
    count, seed = 0, random.Random(7)
    while not end():
        for path in glob.glob(os.path.join(folder, "*")):
            with contextlib.suppress(OSError), open(path, "r+b", buffering=0) as file:
                if path.endswith("page"):
                    size = os.path.getsize(path)
                else:       # what it holds, not its holes
                    size = max(os.stat(path).st_blocks * 512, 65536)
                for _ in range(2000):
                    # The first bytes say what it is at all.
                    file.seek(seed.randrange(16, size))
                    file.write(seed.randbytes(1))
                    count += 1
    return count


def test_scribbled_over():
    """Nothing that a process can write makes the finisher die, hang, or write elsewhere."""
    with prof.folder() as log:
        # What is scribbled over may well crash itself.
        run = start(log, shell("while true; do lives 20000 500; sleep 0.1; done"))
        pid = finisher(run)
        folder = until(lambda: jobs(log))[0]
        end_at = time.monotonic() + 12
        count = scribble(folder, lambda: time.monotonic() > end_at or run.poll() is not None)
        assert count > 100000, count
        if run.poll() is None:
            assert finisher(run) == pid     # it is the first one still
            run.terminate()
        _, err = run.communicate(timeout=120)
        assert "ended while it read this" not in err and "ERROR" not in err, err
        for path in files(log):
            load(path)
        assert not glob.glob(os.path.join(log, "*.part"))


def test_on_trace_runs_for_each():
    with prof.folder() as log:
        told = os.path.join(log, "told")
        run = prof.launch(shell("lives 10 0; lives 10 0"), log,
                          on_trace=f"echo {{}} >> {told}; echo heard", **HEAP)
        until(lambda: os.path.exists(told) and
              len(open(told, encoding="utf-8").read().split()) == len(files(log)))
        assert sorted(open(told, encoding="utf-8").read().split()) == files(log)
        assert run.out == "over\n" * 2, run.out


def test_a_real_time_command():
    """Its priority is its own: of the same one the finisher would never run beside it."""
    with prof.folder() as log:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except PermissionError as error:
            raise prof.Skip("this user may ask for no real time") from error
        try:
            run = start(log, shell("lives 10 500"))
        finally:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        until(lambda: os.sched_getscheduler(finisher(run)) == os.SCHED_OTHER)
        assert os.sched_getscheduler(children(run.pid)["sh"]) == os.SCHED_FIFO
        end(run)
        assert "lives" in names(log)


def test_memory_is_seen_from_outside():
    """Resident size comes without a thread in the program."""
    with prof.folder() as log:
        grow = ("import time; kept = []\n"
                "for _ in range(30): kept.append(b'x' * (1 << 20)); time.sleep(.1)")
        run = prof.launch([sys.executable, "-c", grow], log, **HEAP)
        traces = run.traces()   # sys.executable may be a script that starts the interpreter
        seen = [[e["args"]["bytes"] for e in trace.raw["traceEvents"] if e.get("name") == "RSS"]
                for trace in traces]
        assert any(len(s) >= 2 and max(s) - min(s) >= 5 << 20 for s in seen), seen


prof.main(sys.modules[__name__])
