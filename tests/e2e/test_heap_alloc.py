#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""Four allocators, linked to the program or preloaded behind us: the same counts, and all
that is made is freed.  One that lies ahead of us, or inside the program, is named.
"""
import os
import re
import sys

import heap_fidelity as fidelity
import prof

LIBRARIES = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
             "mimalloc": "libmimalloc.so.2.0"}
SECTIONS = "c,new,std,sized,threads"
ROUNDS = 30
# How an allocator is given to the program: name -> (program, LD_PRELOAD)
WAYS = {"glibc": ("every", None)}
for kind, library in LIBRARIES.items():
    WAYS[kind + ", linked"] = ("every-" + kind, None)
    WAYS[kind + ", preloaded"] = ("every", library)


def there(kind):
    """Programs are linked with those allocators that the machine has."""
    return os.path.exists(os.path.join(fidelity.HEAP, "every-" + kind))


def ways():
    found = [way for way in WAYS if way == "glibc" or there(way.split(",")[0])]
    for way in set(WAYS) - set(found):
        print(f"{way}: skipped, there is no such library here")
    return found


def counted(way, sections, rounds, **given):
    """Counts, and the run, of the program on one allocator."""
    name, library = WAYS[way]
    command = fidelity.program(name, sections, rounds)
    env = {"LD_PRELOAD": library} if library else {}
    alone = prof.plain(command, env={**os.environ, **env})
    with prof.folder() as log:
        run = fidelity.launch(command, log, env=env, **given)
        assert run.out == alone.stdout, (way, run.out, alone.stdout)
        return fidelity.ours(run.only()), run.only()


def grown(way, sections, **given):
    return counted(way, sections, ROUNDS + 1, **given)[0] - counted(way, sections, 1, **given)[0]


def test_the_same_counts_with_each():
    """What the program asks for does not depend on who answers."""
    with prof.folder() as work:
        want = fidelity.reference(fidelity.program("every", SECTIONS, ROUNDS + 1), work) - \
            fidelity.reference(fidelity.program("every", SECTIONS, 1), work)
    assert want.allocs == want.frees and want.bytes == want.freed, want
    for way in ways():
        got = grown(way, SECTIONS)
        assert got == want, (way, got, want)


def test_nothing_is_left_with_each():
    """new and delete, malloc and free balance; realloc to nothing is each one's own affair."""
    for way in ways():
        for sections in ("new", "c", "zero", "std", "sized"):
            total = fidelity.heap(counted(way, sections, 9)[1])["total"]
            assert total["allocs"] >= 18, (way, sections, total)
            assert total["frees"] == total["allocs"], (way, sections, total)
            assert total["freed"] == total["bytes"], (way, sections, total)


def test_count_counts_the_same_calls():
    for way in ways():
        every, count = grown(way, SECTIONS), grown(way, SECTIONS, malloc="count")
        assert (count.allocs, count.frees) == (every.allocs, every.frees), (way, count, every)
        # Usable bytes: what was asked for, or somewhat more.
        assert every.bytes <= count.bytes <= 2 * every.bytes, (way, count, every)


def test_sizes_survive_exceptions_with_each():
    """Debian's mimalloc is built without exceptions; it aborts with us and without."""
    for way in ways():
        if "mimalloc" not in way:
            got = grown(way, "throw")
            assert got.allocs == got.frees > 0, (way, got)


def named_in_one_line(err, *words):
    lines = [line for line in err.splitlines() if all(word in line for word in words)]
    assert len(lines) == 1, err


def test_an_allocator_ahead_of_us_is_named():
    command = fidelity.program("every", "c,new", 9)
    for kind, library in LIBRARIES.items():
        if not there(kind):
            continue
        alone = prof.plain(command, env={**os.environ, "LD_PRELOAD": library})
        with prof.folder() as log:
            run = prof.plain(command, env={
                **os.environ, "LD_PRELOAD": f"{library} {prof.AGENT}", "PROF_MALLOC": "all",
                "PROF_MARKER": "none", "PROF_LOGDIR": log})
        assert (run.stdout, run.returncode) == (alone.stdout, 0), (library, run)
        named_in_one_line(run.stderr, "proflaunch", library)


def test_an_allocator_inside_the_program_is_named():
    command = fidelity.program("own")
    alone = prof.plain(command)
    for mode in ("all", "sample", "count"):
        with prof.folder() as log:
            run = fidelity.launch(command, log, malloc=mode)
            assert (run.out, run.status) == (alone.stdout, 0), (run.out, run.err)
            named_in_one_line(run.err, "malloc", "the program itself")


def test_an_allocator_that_the_program_hides_is_named():
    command = fidelity.program("own-hidden")
    alone = prof.plain(command)
    for mode, lines in ("all", 1), ("sample", 1), ("off", 0):
        with prof.folder() as log:
            run = fidelity.launch(command, log, malloc=mode)
            assert (run.out, run.status) == (alone.stdout, 0), (run.out, run.err)
            said = [line for line in run.err.splitlines()
                    if "own-hidden" in line and "nothing was recorded" not in line]
            assert len(said) == lines, (mode, run.err)


def test_nothing_is_said_of_one_behind_us():
    for way in ways():
        _, library = WAYS[way]
        with prof.folder() as log:
            run = fidelity.launch(fidelity.program(WAYS[way][0], "c", 1), log,
                                  env={"LD_PRELOAD": library} if library else {})
            assert not re.search(r"allocator|cannot be seen", run.err), (way, run.err)


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
