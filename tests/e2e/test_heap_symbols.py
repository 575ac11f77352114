#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 200
"""Who allocated: the right function and line, in every kind of file."""
import os
import shutil
import signal
import subprocess
import sys

import prof
import test_symbolize as symbolize


def heap_of(trace):
    heap = trace.facts.get("heap")
    assert heap, trace.facts.keys()
    return heap


def stacks(heap):
    """Of each site: call, count and frames."""
    return [(site["call"], site["allocs"], [heap["frames"][i] for i in heap["stacks"][site["stack"]]])
            for site in heap["sites"] if site.get("stack") is not None]


def line(marker):
    return symbolize.numbered(marker)


def chain_of(heap, *wanted):
    """Frames that begin with the first text and have the others, in that order."""
    for _, _, frames in stacks(heap):
        at = 0
        for frame in frames:
            if at < len(wanted) and frame.startswith(wanted[at]):
                at += 1
            elif not at:
                break
        if at == len(wanted):
            return frames
    raise AssertionError((wanted, stacks(heap)))


def record(command, log, **given):
    return prof.launch(command, log, marker="none", malloc="all", **given)


GRAB = f"grab (symbols.cc:{line('in grab')})"
HIDDEN = f"hidden(int) (symbols.cc:{line('in hidden')})"
FILL = f"int* deep::Box<int>::fill<short>(short) (symbols.cc:{line('in fill')})"


def expected(heap, *new):
    """symbols.cc's leaks, with inlined, static, nameless and templated functions."""
    chain_of(heap, GRAB, HIDDEN, "deep::(anonymous namespace)::Local::touch(int) (symbols.cc:",
             "deep::work(int) (symbols.cc:", "main (symbols.cc:")
    chain_of(heap, GRAB, HIDDEN, "deep::work(int)::{lambda(int)#1}::operator()(int) const (",
             "deep::work(int) (symbols.cc:", "main (symbols.cc:")
    chain_of(heap, *new, FILL, "deep::work(int) (symbols.cc:", "main (symbols.cc:")
    assert heap["symbols"] is True and not heap["raw"], heap["raw"]


def test_programs_of_each_kind():
    for flags in (["-O1"], ["-O1", "-no-pie"], ["-O1", "-static-libstdc++", "-static-libgcc"],
                  ["-O1", "-fomit-frame-pointer", "-fuse-ld=gold"], ["-O1", "-gdwarf-4", "-gz"]):
        with prof.folder() as log:
            program = symbolize.compiled(log, *flags)
            run = record([program], log)
            assert run.out == prof.plain([program]).stdout
            assert "on the heap: " in run.err, run.err
            # A C++ library that is linked in calls malloc for new.
            new = ["operator new"] if "-static-libstdc++" in flags else []
            expected(heap_of(run.only()), *new)


CALL = "import ctypes, os, sys\nlib = ctypes.CDLL(sys.argv[1])\n%slib._ZN4deep4workEi(5)\n%s"


def extension(log):
    return symbolize.compiled(log, "-O1", "-shared", "-fPIC", name="libsymbols.so")


def test_a_library_that_a_program_opens_late():
    with prof.folder() as log:
        command = [sys.executable, "-c", CALL % ("", ""), extension(log)]
        heap = heap_of(record(command, log).only())
        chain_of(heap, GRAB, HIDDEN, "deep::work(int) (symbols.cc:")


def test_a_stripped_library_says_where():
    symbolize.need("strip")
    with prof.folder() as log:
        library = extension(log)
        assert prof.plain(["strip", library]).returncode == 0
        heap = heap_of(record([sys.executable, "-c", CALL % ("", ""), library], log).only())
        chain_of(heap, "?? (libsymbols.so+0x", "deep::work(int) (libsymbols.so+0x")


def test_a_file_that_is_gone_by_then():
    with prof.folder() as log:
        library, kept = extension(log), os.path.join(log, "kept")
        shutil.copy(library, kept)
        run = record([sys.executable, "-c", CALL % ("os.unlink(sys.argv[1])\n", ""), library], log)
        heap = heap_of(run.only())
        chain_of(heap, "?? (libsymbols.so")
        assert heap["symbols"] is False and heap["raw"]
        # Once it is back, `recover` knows.
        shutil.move(kept, library)
        got = prof.plain([prof.LAUNCHER, "recover", log])
        chain_of(heap_of(run.only()), GRAB, HIDDEN)
        assert got.returncode == 0 and "names now" in got.stderr, got.stderr


def alone(place):
    """The agent without a launcher that it could find."""
    os.mkdir(os.path.join(place, "agent"))
    return shutil.copy(prof.AGENT, os.path.join(place, "agent"))


def preload(agent, command, log, **more):
    env = {**os.environ, "LD_PRELOAD": agent, "PROF_MALLOC": "all", "PROF_MARKER": "none",
           "PROF_LOGDIR": log, **more}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=300)


def sites_of(trace):
    """What the largest allocations say; each name is one of its stack's."""
    heap = heap_of(trace)
    sites = []
    for event in trace.raw["traceEvents"]:
        if event.get("cat") == "heap":
            frames = [heap["frames"][i] for i in heap["stacks"][event["args"]["stack"]]]
            sites.append(event["args"]["site"])
            assert set(sites[-1].split(" < ")) <= set(frames), (sites[-1], frames)
    return sites


def test_without_a_launcher_until_recover():
    for form in ("json", "json.gz"):
        with prof.folder() as place:
            program = symbolize.compiled(place, "-O1")
            log = os.path.join(place, "log")
            preload(alone(place), [program], log, PROF_FORMAT=form)
            run = prof.Run(prof.plain(["true"]), log)
            before = run.only()
            heap = heap_of(before)
            assert heap["symbols"] is False and len(heap["raw"]) > 3
            chain_of(heap, "?? (symbols+0x", "?? (symbols+0x")
            got = prof.plain([prof.LAUNCHER, "recover", log])
            assert got.returncode == 0, got.stderr
            after = run.only()
            expected(heap_of(after))
            prof.strict([after.path])
            named = sites_of(after)
            assert named and not any("symbols+0x" in site for site in named), named
            assert any("symbols+0x" in site for site in sites_of(before))
            for raw in (before.raw, after.raw):
                for event in raw["traceEvents"]:
                    if event.get("cat") == "heap":
                        del event["args"]["site"]
                for key in ("symbols", "modules", "frames", "raw", "stacks"):
                    del raw["proflaunch"]["heap"][key]
            assert before.raw == after.raw


def test_a_killed_program():
    with prof.folder() as log:
        command = [sys.executable, "-c", CALL % ("", "os.kill(os.getpid(), 9)"), extension(log)]
        run = record(command, log, check=False)
        assert run.status == -signal.SIGKILL, run.status
        chain_of(heap_of(run.only()), GRAB, HIDDEN)


def test_the_program_does_not_notice():
    """No child, no SIGCHLD, while windows are written one after the other."""
    with prof.folder() as log:
        program = symbolize.compiled(log, "-O1")
        run = prof.launch([program, "watch"], log, malloc="all",
                          marker="symbol:_ZN4deep4workEi", schedule="wait=1,warmup=0,active=2")
        assert run.out.splitlines()[-1] == "0 signals, 0 children", run.out
        traces = run.traces()
        assert len(traces) > 5, (len(traces), run.err)
        for trace in traces:
            chain_of(heap_of(trace), GRAB, HIDDEN)


def test_under_valgrind():
    """It ends a program that starts a process as the writer does: recover fills names in."""
    if not shutil.which("valgrind"):
        raise prof.Skip("no valgrind")
    with prof.folder() as log:
        env = {**os.environ, "LD_PRELOAD": prof.AGENT, "PROF_LOGDIR": log, "PROF_MARKER": "none",
               "PROF_MALLOC": "all"}
        run = prof.plain(["valgrind", "-q", "--soname-synonyms=somalloc=nouserintercepts",
                          prof.prog("heap_pairs"), "100"], env=env)
        assert run.returncode == 0 and "==" not in run.stderr, (run.returncode, run.stderr)
        paths = prof.Run(run, log).paths()
        if paths:  # else it was not written in the time that a program has at its end
            chain_of(heap_of(prof.Trace(paths[-1])), "?? (heap_pairs+0x")
        done = prof.plain([prof.LAUNCHER, "recover", *(paths or [log])])
        assert done.returncode == 0, done.stderr
        path = prof.Run(run, log).paths()[-1]
        chain_of(heap_of(prof.Trace(path)), "work (heap_pairs.c:", "main (heap_pairs.c:")


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
