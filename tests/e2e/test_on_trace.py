#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
# run: waits
"""on_trace's command runs once for every finished file, whoever finishes it, and its end is told."""
import glob
import os
import signal
import subprocess
import sys
import time

import prof
from finisher import (HEAP, LIVES, children, end, files, finisher, gone, jobs, read, shell, start,
                      stopped_when, until)


def all_files(log):
    return sorted(files(log) + files(log, "children"))


def told(log):
    """Paths that the command was run for, as it wrote them."""
    path = os.path.join(log, "told")
    return sorted(read(path).split()) if os.path.exists(path) else []


def tell(log):
    return f"echo {{}} >> {log}/told"


def marks(log):
    return sorted(glob.glob(os.path.join(log, "**", ".*.on_trace"), recursive=True))


def mark(path):
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.on_trace")


def once_each(log):
    assert all_files(log) and told(log) == all_files(log), (told(log), all_files(log))
    assert set(marks(log)) == set(map(mark, all_files(log))), marks(log)


def test_forty_short_programs():
    with prof.folder() as log:
        run = prof.launch(shell("for i in $(seq 40); do lives 1 0; done"), log, on_trace=tell(log),
                          children="each", **HEAP)
        assert len(all_files(log)) >= 40, run.err
        once_each(log)
        assert "on_trace" not in run.err, run.err


def test_a_program_that_is_killed():
    for _ in range(3):
        with prof.folder() as log:
            run = prof.launch(["sh", "-c", "kill -9 $$"], log, on_trace=tell(log), check=False, **HEAP)
            assert run.status == -signal.SIGKILL, run.err
            once_each(log)


def test_a_name_that_comes_back():
    """The command moves the file away: the next one of that name is another file."""
    for form in ("json", "json.gz"):
        with prof.folder() as log:
            path = os.path.join(log, f"worker.pt.trace.{form}")
            for turn in ("first", "second", "third"):
                run = prof.launch([LIVES, "1", "0"], log, file="worker", format=form,
                                  on_trace=f"mv {{}} {log}/{turn}", **HEAP)
                assert not all_files(log) and "on_trace" not in run.err, run.err
                assert os.path.exists(os.path.join(log, turn)), os.listdir(log)
            os.rename(os.path.join(log, "third"), path)
            prof.plain([prof.LAUNCHER, "recover", "--on-trace", tell(log), log])
            assert not told(log), told(log)
            os.unlink(path)
            prof.launch([LIVES, "1", "0"], log, file="worker", format=form, **HEAP)
            prof.plain([prof.LAUNCHER, "recover", "--on-trace", tell(log), log])
            assert told(log) == [path], told(log)


def test_its_end_is_told():
    with prof.folder() as log:
        run = prof.launch([LIVES, "1", "0"], log, on_trace="exit 3;", **HEAP)
        path = all_files(log)[0]
        assert f"on_trace: the command ended with status 3 for {path}\n" in run.err, run.err
        run = prof.launch([LIVES, "1", "0"], log, on_trace="no-such-command", **HEAP)
        assert "on_trace: no-such-command cannot be started for " in run.err, run.err
        assert marks(log) == [mark(path)], marks(log)


def test_where_and_with_what_it_runs():
    """The launcher's directory and environment, without ours; a shell where one is needed."""
    with prof.folder() as log:
        with open(os.path.join(log, "look"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nenv > env\npwd > pwd\necho \"$#:$1:$2\" > words\n")
        os.chmod(os.path.join(log, "look"), 0o755)
        process = subprocess.run(
            [prof.LAUNCHER, *prof.options(logdir="it's $here", on_trace="./look {} a{}b", **HEAP), "--",
             "sh", "-c", "cd /; exit 0"], cwd=log, capture_output=True, text=True, check=False,
            env={**os.environ, "MINE": "1", "PROF_QUIET": "off"})
        assert process.returncode == 0, process.stderr
        path = all_files(os.path.join(log, "it's $here"))[0]
        assert read(os.path.join(log, "words")) == f"2:{path}:a{path}b\n"
        assert read(os.path.join(log, "pwd")) == os.path.realpath(log) + "\n"
        env = read(os.path.join(log, "env"))
        assert "MINE=1\n" in env and "PROF_" not in env and "LD_PRELOAD" not in env, env


def test_the_launcher_waits_for_it():
    """What runs in a job that ends with the launcher would be killed with it."""
    with prof.folder() as log:
        os.mkfifo(os.path.join(log, "go"))
        run = start(log, [LIVES, "1", "0"], on_trace=f"read x < {log}/go; echo {{}} >> {log}/told")
        until(lambda: marks(log))
        assert not told(log) and run.poll() is None
        with open(os.path.join(log, "go"), "w", encoding="utf-8") as file:
            file.write("\n")
        _, err = end(run)
        once_each(log)
        assert err.index("1 trace file in"), err


def test_the_launcher_is_killed():
    """The finisher goes on, in the launcher's directory; nothing runs twice."""
    with prof.folder() as log:
        os.mkfifo(os.path.join(log, "go"))
        run = subprocess.Popen(
            [prof.LAUNCHER, *prof.options(logdir=log, outlive="on", on_trace="echo {} >> told; exit 4",
                                          **HEAP), "--",
             *shell("lives 1 0; lives 1 0; read x < go; lives 1 0; read x < go")], cwd=log,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: len(told(log)) == 2)
        helper = finisher(run)
        run.kill()
        run.wait(60)
        for seen in (3, 4):
            with open(os.path.join(log, "go"), "w", encoding="utf-8") as file:
                file.write("\n")
            until(lambda want=seen: len(told(log)) == want)
        until(lambda: gone(helper) and not jobs(log))
        assert len(all_files(log)) == 4, all_files(log)
        once_each(log)
        said = read(os.path.join(log, "proflaunch.log"))
        assert said.count("on_trace: the command ended with status 4 for") == 2, said


def test_the_finisher_is_killed():
    """What it has done is the launcher's: its next look at the spools never comes."""
    with prof.folder() as log:
        os.mkfifo(os.path.join(log, "go"))
        run = start(log, shell(f"for i in 1 2; do lives 1 0; read x < {log}/go; done"), on_trace=tell(log),
                    children="each")
        for turn in (1, 2):
            helper, looks = finisher(run), []
            stopped_when(helper, lambda want=turn, seen=looks: seen.append(len(all_files(log)) == want)
                         or seen[-2:] == [True, True])
            os.kill(helper, signal.SIGKILL)     # which ends a stopped one, too
            until(lambda want=turn: len(told(log)) == want)
            until(lambda last=helper: finisher(run) != last)
            with open(os.path.join(log, "go"), "w", encoding="utf-8") as file:
                file.write("\n")
        end(run)
        once_each(log)


def test_without_the_launcher():
    """The program starts nothing: recover does, with a command of its own line."""
    with prof.folder() as log:
        env = {**os.environ, "LD_PRELOAD": prof.AGENT, "PROF_LOGDIR": log, "PROF_MALLOC": "all",
               "PROF_MARKER": "none", "PROF_ON_TRACE": tell(log)}
        process = prof.plain([LIVES, "1", "0"], env=env)
        assert len(all_files(log)) == 1 and not told(log) and not marks(log), process.stderr
        line = f"on_trace is not run from within the program: run: proflaunch recover --on-trace <command> {log}\n"
        assert process.stderr.count(line) == 1, process.stderr
        for given in ({"PROF_ON_TRACE": tell(log)}, {}):
            process = prof.plain([prof.LAUNCHER, "recover", log], env={**os.environ, **given})
            assert process.returncode == 0 and not told(log) and not marks(log), process.stderr
        process = prof.plain([prof.LAUNCHER, "recover", "--on-trace", tell(log), log])
        assert process.returncode == 0, process.stderr
        once_each(log)


def test_recover_runs_it_for_those_without_a_mark():
    with prof.folder() as log:
        for _ in range(3):
            prof.launch([LIVES, "1", "0"], log, on_trace=tell(log), **HEAP)
        first, second, third = all_files(log)
        os.unlink(mark(second))
        os.unlink(os.path.join(log, "told"))
        process = prof.plain([prof.LAUNCHER, "recover", log])
        assert f"on_trace has not run for {second}\n" in process.stderr, process.stderr
        assert first not in process.stderr and third not in process.stderr, process.stderr
        process = prof.plain([prof.LAUNCHER, "recover", "--on-trace", tell(log), log])
        assert f"on_trace: {second}\n" in process.stderr and told(log) == [second], process.stderr
        os.unlink(mark(third))
        process = prof.plain([prof.LAUNCHER, "recover", "--on-trace", "false", log])
        assert process.returncode == 1, process.stderr
        process = prof.plain([prof.LAUNCHER, "recover", "--on-trace", tell(log), log])
        assert told(log) == [second] and "each file in" in process.stderr, process.stderr


def test_a_job_that_nobody_finished():
    """recover names the files that it made of it, as its options had an on_trace."""
    with prof.folder() as log:
        os.mkfifo(os.path.join(log, "go"))
        run = start(log, ["sh", "-c", "read x < $0", os.path.join(log, "go")], on_trace=tell(log))
        helper = finisher(run)
        until(lambda: glob.glob(os.path.join(log, ".proflaunch", "*", "*.spool")))
        run.send_signal(signal.SIGSTOP)
        os.kill(helper, signal.SIGKILL)
        others = children(run.pid).values()
        run.kill()
        run.communicate(timeout=60)
        until(lambda: all(map(gone, others)))       # the job is theirs as long as they live
        process = prof.plain([prof.LAUNCHER, "recover", log])
        assert len(all_files(log)) == 1 and not told(log), process.stderr
        assert f"on_trace has not run for {all_files(log)[0]}\n" in process.stderr, process.stderr
        prof.plain([prof.LAUNCHER, "recover", "--on-trace", tell(log), log])
        once_each(log)


def test_nobody_waits_for_it_for_ever():
    """^C leaves it to itself, and says that its end is not told."""
    with prof.folder() as log:
        os.mkfifo(os.path.join(log, "go"))
        run = start(log, [LIVES, "1", "0"], on_trace=f"read x < {log}/go; echo {{}} >> {log}/told")
        until(lambda: marks(log))
        assert "waiting for 1 command of on_trace" in run.stderr.readline()
        run.send_signal(signal.SIGINT)
        assert "on_trace: 1 command still running" in run.stderr.readline()
        assert run.wait(60) == 0
        with open(os.path.join(log, "go"), "w", encoding="utf-8") as file:
            file.write("\n")
        until(lambda: told(log))
        once_each(log)


def test_the_rest_goes_on_without_the_launcher():
    """While one process lives on the finisher comes to those that the launcher did not: none is lost,
    and at most as many run at a time as there are processors, or four."""
    most = min(4, len(os.sched_getaffinity(0)))
    with prof.folder() as log:
        waits = f"echo x >> {log}/begun; until [ -e {log}/go ]; do sleep 0.05; done; {tell(log)}"
        run = start(log, shell("for i in $(seq 7); do lives 1 0; done; lives 1 8000 daemon"), on_trace=waits,
                    children="each")
        assert f"waiting for {most} command" in run.stderr.readline()
        time.sleep(1)
        assert read(os.path.join(log, "begun")).count("x") == most, (most, all_files(log))
        run.send_signal(signal.SIGINT)
        assert run.wait(60) == 0
        with open(os.path.join(log, "go"), "w", encoding="utf-8"):
            pass            # they have the launcher's stderr
        _, err = end(run)
        assert "still running" in err and "not run for" not in err, err
        until(lambda: not jobs(log))
        assert len(all_files(log)) >= 8, all_files(log)
        until(lambda: told(log) == all_files(log))
        once_each(log)


prof.main(sys.modules[__name__])
