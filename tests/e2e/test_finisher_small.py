#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""Small processes are rows of one file; a job that was cut off is recover's."""
import glob
import os
import re
import shutil
import signal
import sys

import prof
from finisher import (HEAP, children, end, files, finisher, gone, jobs, load, names, shell, start,
                      until)


def left_in(log):
    return [os.path.join(where, name) for where, _, found in os.walk(log) for name in found]


def rows(log):
    paths = files(log, "children")
    assert len(paths) == 1, (paths, names(log), left_in(log))
    data = load(paths[0])
    return paths[0], [e for e in data["traceEvents"] if e["ph"] == "X"]


def test_small_processes_are_rows():
    with prof.folder() as log:
        script = "for i in $(seq 30); do lives 100 0; done; lives 20000 0; lives 10 1100"
        run = prof.launch(shell(script), log, **HEAP)
        assert run.out == "over\n" * 32
        path, found = rows(log)
        small = [e for e in found if e["name"] == "lives"]
        assert small, found
        for event in small:
            assert 100 * 1024 <= event["args"]["peak"] < 200 * 1024, event
            assert event["args"]["allocations"] >= 101, event
            assert event["args"]["parent"] == event["pid"], event
        own = names(log)
        assert own.count("sh") >= 1
        assert len(small) + own.count("lives") == 32, (len(small), own)
        peaks = [load(p)["proflaunch"]["heap"]["peak"]["bytes"] for p in files(log)]
        assert max(peaks) >= 20000 * 1024       # too large for a row, whenever it came
        table = prof.plain([prof.LAUNCHER, "memory", path])
        assert table.returncode == 0, table.stderr
        assert re.search(r"lives", table.stdout), table.stdout


def test_five_hundred_in_memory():
    """One after the other, faster than who only looks now and then could take them."""
    with prof.folder() as log:
        run = prof.launch(shell("for i in $(seq 500); do lives 1 0; done"), log, spool="memory",
                          **HEAP)
        assert run.out == "over\n" * 500
        assert "not recorded" not in run.err, run.err
        small = [e for e in rows(log)[1] if e["name"] == "lives"]
        own = names(log)
        assert len(small) + own.count("lives") == 500, (len(small), own, run.err)


def test_each_has_its_file():
    with prof.folder() as log:
        run = prof.launch(shell("for i in $(seq 25); do lives 1 0; done"), log, children="each", **HEAP)
        own = names(log)
        assert own.count("lives") == 25, (own, run.err, left_in(log))
        assert not files(log, "children")


def interrupted_job(log, script):
    """A job whose launcher and finisher are gone, its spools left where they are."""
    run = start(log, [*shell(script + "; : > $0/over"), log], children="on")
    pid = finisher(run)
    os.kill(pid, signal.SIGSTOP)
    until(lambda: os.path.exists(log + "/over"))  # the finisher is there before the command is
    until(lambda: not [n for n in children(run.pid) if n != "proflaunch-fin"])
    run.kill()
    os.kill(pid, signal.SIGKILL)
    run.communicate(timeout=60)
    until(lambda: gone(pid))
    return until(lambda: jobs(log))[0]


def test_recover_writes_rows_too():
    with prof.folder() as log:
        interrupted_job(log, "for i in $(seq 30); do lives 100 0; done")
        again = prof.plain([prof.LAUNCHER, "recover", log])
        assert again.returncode == 0, again.stderr
        _, found = rows(log)
        assert len([e for e in found if e["name"] == "lives"]) + names(log).count("lives") == 30
        assert not jobs(log)


def only_the_shell_is_left(log):
    until(lambda: os.path.exists(log + "/first"))
    until(lambda: len(glob.glob(jobs(log)[0] + "/*.spool")) == 1)


def test_recover_goes_on_where_the_finisher_was():
    """Who has a file of its own is decided once for a job; the command always has one."""
    with prof.folder() as log:
        os.mkfifo(os.path.join(log, "go"))
        run = start(log, [*shell("for i in $(seq 30); do lives 1 0; done; : > $0/first; "
                                 "read line < $0/go; for i in $(seq 10); do lives 1 0; done; "
                                 ": > $0/second; read line < $0/go"),
                          log])
        pid = finisher(run)

        only_the_shell_is_left(log)
        os.kill(pid, signal.SIGSTOP)
        before = files(log)
        with open(os.path.join(log, "go"), "w", encoding="utf-8") as file:
            file.write("\n")
        until(lambda: os.path.exists(log + "/second"))
        run.kill()              # takes the command along
        os.kill(pid, signal.SIGKILL)
        run.communicate(timeout=60)
        until(lambda: gone(pid))
        again = prof.plain([prof.LAUNCHER, "recover", log])
        assert again.returncode == 0, again.stderr
        _, found = rows(log)
        assert len([e for e in found if e["name"] == "lives"]) + names(log).count("lives") == 40
        new = [load(p)["proflaunch"]["process"]["name"] for p in files(log) if p not in before]
        assert new == ["sh"], new
        assert not jobs(log)


def test_the_folder_of_a_job_disappears():
    """What has begun before is finished all the same; who comes later records nothing."""
    with prof.folder() as log:
        os.mkfifo(os.path.join(log, "go"))
        run = start(log, [*shell("for i in $(seq 30); do lives 1 0; done; : > $0/first; "
                                 "read line < $0/go"), log])
        only_the_shell_is_left(log)
        shutil.rmtree(os.path.join(log, ".proflaunch"))
        with open(os.path.join(log, "go"), "w", encoding="utf-8") as file:
            file.write("\n")
        _, err = end(run)
        _, found = rows(log)
        own = names(log)
        assert "sh" in own, (own, err)
        assert len([e for e in found if e["name"] == "lives"]) + own.count("lives") == 30, err


def test_a_copied_folder_leads_nowhere_else():
    """Neither its log directory nor its file names are followed."""
    with prof.folder() as log, prof.folder() as away:
        job = interrupted_job(log, "lives 100 0")
        copy = os.path.join(away, "deep", "er", "copy")
        shutil.copytree(job, copy)
        shutil.rmtree(log)
        os.mkdir(log)
        for path in glob.glob(copy + "/*.spool"):
            with open(path, "r+b") as file:
                data = file.read(65536)
                where = data.find(b'file = "')
                assert where > 0
                fact = b'file = "../../../../../../../../tmp/hostile.%t"'
                file.seek(where)
                file.write(fact + b"\n" + b"\0" * 64)
        again = prof.plain([prof.LAUNCHER, "recover", copy])
        assert again.returncode == 0, again.stderr
        assert not files(log)
        assert glob.glob(copy + "/**/*.pt.trace.json", recursive=True), again.stderr
        assert not glob.glob("/tmp/hostile*")
        assert sorted(os.listdir(away)) == ["deep"]


prof.main(sys.modules[__name__])
