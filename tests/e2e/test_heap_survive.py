#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""Programs that allocate where hooks have it hard: they end as they do without us, and
each of their blocks is in the spool, once when made and once when freed.

The program ends by a kill, so that what the agent wrote is read as it was written.
"""
import collections
import os
import shutil
import subprocess
import sys

import heap_spool
import prof

MARK = 7777
LIBRARY = """#include <stdlib.h>
void *life_make(size_t n) { char *volatile p = malloc(n); *p = 0x5a; return p; }
void life_end(void *p) { free(p); }
"""


def library(folder):
    path = os.path.join(folder, "liblife.so")
    if not shutil.which("cc"):
        raise prof.Skip("no C compiler")
    with open(path + ".c", "w") as file:
        file.write(LIBRARY)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path, path + ".c"], check=True)
    return path


def scene(name, rounds=100, wrap=(), preload=(), **given):
    """Spools of the program and its children, the program's own first."""
    command = [*wrap, prof.prog("heap_life"), name, str(rounds)]
    with prof.folder() as work:
        os.environ["HEAP_LIB"] = library(work)
        os.environ.pop("HEAP_DIE", None)
        want = prof.plain(command)
        os.environ["HEAP_DIE"] = "1"
        log = os.path.join(work, "spools")
        os.mkdir(log)
        given = {"malloc": "all", "malloc_stacks": "off", "buffer_mb": 64, **given}
        got = heap_spool.run(log, command, preload, **given)
        assert want.returncode == 0 and got.returncode == -9, (want, got)
        if "loaded" not in name and name != "libraries":
            assert got.stdout == want.stdout, (want.stdout, got.stdout)
        found = heap_spool.spools(log)
        own = max(found, key=lambda spool: len(marked(spool)))
        made, freed = map(int, got.stdout.split())
        return own, [spool for spool in found if spool is not own], made, freed, got


def marked(spool):
    return [r for r in spool.records if r[1] == "alloc" and r[6] == MARK]


def whole(spool, made, freed, handlers=False):
    """Its blocks of MARK bytes, all of them.  What a signal's handler does in the middle of
    a record of ours is not recorded, but counted."""
    blocks = marked(spool)
    live, _ = spool.live()
    left = [r for r in live.values() if r[6] == MARK]
    allocs, frees = spool.drops["ALLOC"], spool.drops["FREE"]
    found = (len(blocks), made, len(left), freed, spool.drops)
    assert handlers or not allocs + frees, found
    assert len(blocks) + allocs == made, found
    assert made - freed - allocs <= len(left) <= made - freed + frees, found


def test_constructors():
    own, _, made, freed, _ = scene("constructor")
    whole(own, made, freed)
    assert [r for r in own.records if r[2] == "realloc" and r[6] == 100000], "the moved block"


def test_destructors_after_the_agents_own():
    own, _, made, freed, _ = scene("destructors", 200)
    whole(own, made, freed)
    threads = collections.Counter(r[0] for r in own.records if r[6] == MARK)
    assert len(threads) == 200 and set(threads.values()) == {5}, threads.most_common(3)


def test_a_thousand_threads():
    for given in {}, {"malloc_stacks": "on"}:
        own, _, made, freed, _ = scene("many", **given)
        whole(own, made, freed)


def test_signal_handlers():
    for given in {}, {"malloc_stacks": "on"}:
        own, _, made, freed, _ = scene("signals", 1000, **given)
        whole(own, made, freed, handlers=True)


def test_a_handler_in_the_middle_of_a_record():
    """The allocator is one that a signal may interrupt.  What the handler frees in the middle
    of a record of ours is a lost free, not a lost allocation; in the middle of the allocator
    it cannot be told from what that one does."""
    bump = [os.path.join(prof.BUILD, "heap", "bump.so")]
    for given in {}, {"malloc_stacks": "on"}:
        own, _, made, freed, _ = scene("timer", 500, preload=bump, buffer_mb=1000, **given)
        blocks = {r[5] for r in marked(own)}
        gone = sum(1 for r in own.records if r[1] == "free" and r[5] in blocks)
        found = (len(blocks), made, gone, freed, own.drops)
        assert len(blocks) == made == freed == 500 and own.drops["ALLOC"] == 0, found
        assert own.drops["FREE"] > 0 and 250 < gone + own.drops["FREE"] <= freed, found


def test_constructors_before_ours():
    """Those of a library that is preloaded behind us: it is ready before we are."""
    early = os.path.join(prof.BUILD, "heap", "early.so")
    os.environ.pop("HEAP_DIE", None)
    for mode in "off", "all":
        with prof.folder() as log:
            run = prof.launch([prof.prog("heap_life"), "load", "10"], log, env={"LD_PRELOAD": early},
                              marker="none", malloc=mode)
            assert "early: 1000 blocks are whole" in run.out, (run.out, run.err)
            if mode == "all":
                assert run.only().facts["facts"]["heap"]["bootstrap_bytes"] == 0


def test_children_have_windows_of_their_own():
    own, children, made, freed, _ = scene("forks", 20)
    whole(own, made, freed)
    assert len(children) == 20
    for child in children:
        whole(child, 1, 1)


def test_children_are_left_alone_on_request():
    own, children, made, freed, _ = scene("forks", 20, children="off")
    whole(own, made, freed)
    assert not children


def test_atfork_handlers():
    own, children, made, freed, _ = scene("atfork", 20)
    whole(own, made, freed)
    for child in children:
        whole(child, 2, 2)


def test_forks_under_load():
    own, _, made, freed, _ = scene("loaded_forks", 20, children="off", buffer_mb=2000)
    whole(own, made, freed)


def test_raw_clones_under_load():
    own, _, made, freed, _ = scene("loaded_clones", 50, buffer_mb=2000)
    whole(own, made, freed)


def test_libraries_come_and_go_under_load():
    for given in {}, {"malloc_stacks": "on"}:
        own, _, made, freed, _ = scene("libraries", 50, buffer_mb=2000, **given)
        whole(own, made, freed)


def test_a_library_with_its_own_way_to_free():
    own, _, made, freed, _ = scene("deepbind")
    whole(own, made, freed)
    _, foreign = own.live()
    assert foreign == 100, foreign  # made by the library, freed by the program


def counters(name, rounds, **given):
    """What a trace says over time: {counter: [(time, values)]}, and what the program said."""
    os.environ.pop("HEAP_DIE", None)
    with prof.folder() as log:
        run = prof.launch([prof.prog("heap_life"), name, str(rounds)], log, **given)
        found = {}
        for event in run.only().raw["traceEvents"]:
            if event["ph"] == "C":
                found.setdefault(event["name"], []).append((event["ts"], event["args"]))
        return found, int(run.out.split()[0])


def test_counters_and_resident_bytes():
    """They come from outside: no thread of ours is in the program for them."""
    found, made = counters("slow", 300, marker="none", malloc="count")
    rates = [args["allocations/s"] for _, args in found["Heap calls"]]
    times = [time for time, _ in found["Heap calls"]]
    assert len(rates) >= 3 and times == sorted(times), found["Heap calls"]
    seconds = [(b - a) / 1e6 for a, b in zip(times, times[1:])]
    assert sum(r * s for r, s in zip(rates, seconds)) > made / 2, (made, found["Heap calls"])
    assert max(args["bytes"] for _, args in found["RSS"]) > 1 << 20, found["RSS"]


def test_counted_from_the_start():
    """The block that a constructor made before the window is in it."""
    sums = []
    for since in "window", "start":
        # One window: what was written before the end is no more in the spool.
        own, _, _, _, _ = scene("slow", 400, malloc="count", malloc_since=since, marker="time:50",
                                schedule="wait=0,warmup=0,active=100000")
        sums.append(own.marks[0][3])
    assert sums[0] < sums[1], sums


def test_steps_without_torch():
    for options in {"marker": "auto", "schedule": "wait=1,warmup=0,active=1000"}, \
            {"marker": "time:20", "schedule": "wait=0,warmup=0,active=100000"}:
        own, _, made, freed, _ = scene("steps" if options["marker"] == "auto" else "slow", 50,
                                       **options)
        blocks = marked(own)
        skipped = 1 if options["marker"] == "auto" else 0
        assert len(blocks) == made - skipped, (options, len(blocks), made)


def test_under_valgrind():
    if not shutil.which("valgrind"):
        raise prof.Skip("no valgrind")
    wrap = ["valgrind", "-q", "--error-exitcode=9", "--soname-synonyms=somalloc=nouserintercepts"]
    for name in "constructor", "destructors", "signals", "forks":
        own, _, made, freed, got = scene(name, 20, wrap)
        assert "==" not in got.stderr, got.stderr
        whole(own, made, freed, handlers=name == "signals")


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
