#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 500
"""Bad surroundings: the program goes on, the message is clear, the counts are right."""
import concurrent.futures
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time

import prof

MANY = 200_000


def counted(trace, name):
    return len(trace.named(name))


def drops(trace):
    return sum(trace.facts["drops"].values())


def many(log, **given):
    run = prof.launch([prof.prog("edges"), "many", str(MANY)], log,
                      **{"marker": "none", **given})
    assert run.out == f"{MANY}\n", run.out
    return run


def mounted(kind, size, command):
    """The command with a file system of its own mounted at $PLACE."""
    script = f'mount -t tmpfs -o size={size},{kind} tmpfs "$PLACE" && exec "$@"'
    return ["unshare", "-m" if os.getuid() == 0 else "-rm", "sh", "-c", script, "sh", *command]


def in_small_place(kind, size, place, spool=None):
    given = ["--spool", spool] if spool else []
    command = mounted(kind, size, [
        prof.LAUNCHER, "--keep-going", "--logdir", os.path.join(place, "log"), "--marker", "none", *given, "--",
        prof.prog("edges"), "many", str(MANY)])
    process = prof.plain(command, env={**os.environ, "PLACE": place})
    if process.stderr.startswith("unshare:") or ("mount" in process.stderr and "denied" in process.stderr):
        raise prof.Skip(f"no right to mount here: {process.stderr.strip()}")
    assert (process.stdout, process.returncode) == (f"{MANY}\n", 0), process
    return process.stderr


def test_disk_full():
    """Neither the spool nor the trace fits; then only the trace does not."""
    with prof.folder() as place, prof.folder() as spool:
        assert "No space left on device" in in_small_place("rw", "1m", place)
        said = in_small_place("rw", "1m", place, spool)
        assert "No space left on device" in said, said
        # What could not be written is kept, and the user is told how to have it.
        assert not os.listdir(spool) or f"lie in {spool}" in said, said


def test_read_only_directory():
    with prof.folder() as place:
        assert "Read-only file system" in in_small_place("ro", "1m", place)


def test_log_directory_is_a_file():
    with prof.folder() as place:
        path = os.path.join(place, "file")
        open(path, "w").close()
        run = many(path, keep_going=True)
        assert "Not a directory" in run.err or "File exists" in run.err, run.err


def test_plain_preload_has_no_place():
    """Nobody is asked before: the program goes on, and one line says that nothing is recorded."""
    with prof.folder() as place:
        path = os.path.join(place, "file")
        open(path, "w").close()
        for logdir, spool in ((path, "auto"), (path + "/log", "auto"), (path + "/log", "memory")):
            got = prof.plain([prof.prog("edges"), "many", str(MANY)], env={
                **os.environ, "LD_PRELOAD": prof.AGENT, "PROF_LOGDIR": logdir,
                "PROF_SPOOL": spool, "PROF_MARKER": "none"})
            assert (got.returncode, got.stdout) == (0, f"{MANY}\n"), got
            said = [line for line in got.stderr.splitlines() if "not recorded" in line]
            assert len(said) == 1 and f": {logdir}: Not a directory: no trace can be written" in said[0], got


def test_file_size_limit():
    """RLIMIT_FSIZE kills by SIGXFSZ whoever is careless."""
    for limit in (1 << 14, 1 << 20):
        with prof.folder() as log:
            run = many(log, keep_going=True, wrap=["prlimit", f"--fsize={limit}"])
            assert "File too large" in run.err, run.err


def test_processes_without_a_place_are_counted():
    with prof.folder() as log:
        run = prof.launch(["sh", "-c", "ulimit -v 12000; for i in 1 2 3; do /bin/true; done"], log,
                          marker="none", malloc="all")
        assert "proflaunch: 3 processes not recorded" in run.err, run.err


def test_cap():
    """The cap is hard; what did not fit is counted, and in the file."""
    with prof.folder() as log:
        run = many(log, buffer_mb=1)
        trace = run.only()
        seen = counted(trace, "one of many")
        assert 1000 < seen < MANY, seen
        # At the cap operators are no longer observed at all: the rest cannot be counted.
        assert 0 < drops(trace) <= MANY - seen, (seen, trace.facts["drops"])
        assert f"not recorded: {drops(trace):,} operators" in run.err, run.err
        assert "--buffer-mb" in run.err, run.err
        prof.strict(run.paths())


def test_cap_over_many_windows():
    with prof.folder() as log:
        run = prof.launch([prof.prog("edges"), "counting", "60000"], log, buffer_mb=1,
                          schedule="active=1")
        assert run.out.endswith("60000\n")
        missed = re.search(r"(\d+) windows could not be opened", run.err)
        windows = len(run.paths()) + int(missed[1] if missed else 0)
        assert 60 <= windows <= 61, (windows, run.err)
        prof.strict(run.paths())


@contextlib.contextmanager
def busy():
    """More runnable threads than processors, all through."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
             for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@prof.full
def test_busy_machine():
    with busy(), prof.folder() as log:
        trace = many(log).only()
        assert counted(trace, "one of many") + drops(trace) == MANY
        assert not drops(trace), trace.facts["drops"]


def test_eight_launchers():
    """In one log directory: each finishes its own, nobody touches another's."""
    def one(number):
        return prof.launch([prof.prog("edges"), "many", str(1000 + number)], log, marker="none")

    with prof.folder() as log:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            runs = list(pool.map(one, range(8)))
        assert [run.out for run in runs] == [f"{1000 + n}\n" for n in range(8)]
        traces = runs[0].traces()
        assert sorted(counted(t, "one of many") for t in traces) == list(range(1000, 1008))
        assert not runs[0].left_over(), runs[0].left_over()
        prof.strict(runs[0].paths())


def recovered(log, printed, others):
    """What was printed as done before the kill is in the files, which are valid."""
    for _ in range(600):
        run = prof.Run(prof.plain([prof.LAUNCHER, "recover", log]), log)
        # A finisher that was born at that moment has the launcher's lock, too, for a while.
        if "left to the proflaunch that" not in run.err:
            break
        time.sleep(0.1)
    seen = sum(counted(trace, "counted") for trace in run.traces())
    assert seen >= printed, (printed, seen, run.err, others)
    assert not run.left_over(), run.left_over()
    if run.paths():
        prof.strict(run.paths())
    return seen


def kill_at(moment, launcher_too):
    with prof.folder() as log:
        process = subprocess.Popen(
            [prof.LAUNCHER, "--logdir", log, "--marker", "none", "--",
             prof.prog("edges"), "counting", "100000000"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        out = process.stdout.readline()
        time.sleep(moment)
        child = prof.plain(["pgrep", "-P", str(process.pid)]).stdout.split()
        if launcher_too:
            process.send_signal(signal.SIGSTOP)
        for pid in child:                           # the finisher ends with the command
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        if launcher_too:
            process.kill()
        rest, err = process.communicate(timeout=300)
        printed = (out + rest).count(b"\n")
        assert printed > 0
        assert process.returncode == -signal.SIGKILL, (process.returncode, err)
        recovered(log, printed, err)


def test_kill_at_random_moments():
    chance = random.Random(1)
    for _ in range(50 if prof.FULL else 8):
        kill_at(chance.random() ** 3 * 0.2, launcher_too=False)


def test_kill_with_the_launcher():
    chance = random.Random(2)
    for _ in range(50 if prof.FULL else 8):
        kill_at(chance.random() ** 3 * 0.2, launcher_too=True)


def test_kill_with_records_in_memory():
    """The launcher holds the memory, too: what the program committed is in the file."""
    for moment in (0.0, 0.05, 0.3):
        with prof.folder() as log:
            process = subprocess.Popen(
                [prof.LAUNCHER, "--logdir", log, "--spool", "memory", "--marker", "none", "--",
                 prof.prog("edges"), "counting", "100000000"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
            out = process.stdout.readline()
            time.sleep(moment)
            for pid in prof.plain(["pgrep", "-P", str(process.pid)]).stdout.split():
                os.kill(int(pid), signal.SIGKILL)
            rest, err = process.communicate(timeout=300)
            run = prof.Run(process, log)
            seen = sum(counted(trace, "counted") for trace in run.traces())
            assert seen >= (out + rest).count(b"\n") > 0, (seen, err)
            assert b"1 trace file" in err and b"1 steps" not in err, err
            assert not run.left_over(), run.left_over()
            prof.strict(run.paths())


def test_memory_of_many_processes():
    """Each hands its memory over; what there is no room for is kept alone, and written."""
    with prof.folder() as log:
        many = "for n in 1 2 3 4 5 6 7 8; do " + prof.prog("edges") + " many 100$n & done; wait"
        run = prof.launch(["sh", "-c", many], log, spool="memory", marker="none")
        seen = sorted(counted(t, "one of many") for t in run.traces())
        assert [n for n in seen if n] == list(range(1001, 1009)), (seen, run.err)
        assert not run.left_over(), run.left_over()


def test_recover_leaves_the_living_alone():
    with prof.folder() as log:
        process = subprocess.Popen(
            [prof.LAUNCHER, "--logdir", log, "--marker", "none", "--",
             prof.prog("edges"), "counting", "100000000"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        process.stdout.readline()
        spools = set(os.listdir(os.path.join(log, ".proflaunch")))
        answer = prof.plain([prof.LAUNCHER, "recover", log])
        assert answer.returncode == 0, answer
        assert set(os.listdir(os.path.join(log, ".proflaunch"))) == spools
        os.killpg(process.pid, signal.SIGKILL)
        printed = 1 + process.communicate()[0].count(b"\n")
        recovered(log, printed, answer.stderr)


def test_exit_at_once():
    """os._exit, as multiprocessing's children: nothing is lost, whoever keeps the records."""
    script = "import os, threading; blocks = [bytes(100000) for _ in range(100)]; os._exit(3)"
    for spool in ("auto", "memory"):
        with prof.folder() as log:
            run = prof.plain([sys.executable, "-c", script], env={
                **os.environ, "LD_PRELOAD": prof.AGENT, "PROF_LOGDIR": log, "PROF_SPOOL": spool,
                "PROF_MARKER": "none", "PROF_MALLOC": "all", "PROF_CHILDREN": "0"})
            assert run.returncode == 3 and not run.stdout, run
            if spool == "auto":
                assert prof.plain([prof.LAUNCHER, "recover", log]).returncode == 0
            traces = prof.Run(run, log).traces()
            # sys.executable may be a script that starts the interpreter.
            assert max(trace.facts["heap"]["total"]["bytes"] for trace in traces) > 10_000_000, spool


@prof.full
def test_exit_of_a_busy_machine():
    """What nobody else can write is not left to a thread that gets no processor."""
    with busy(), prof.folder() as log:
        process = prof.plain([prof.prog("edges"), "many", "400000"], env={
            **os.environ, "LD_PRELOAD": prof.AGENT, "PROF_LOGDIR": log, "PROF_SPOOL": "memory",
            "PROF_MARKER": "none", "PROF_CHILDREN": "0"})
        run = prof.Run(process, log)
        assert "lost" not in run.err, run.err
        assert counted(run.only(), "one of many") + drops(run.only()) == 400000


prof.main(sys.modules[__name__])
