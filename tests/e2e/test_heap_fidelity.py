#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 400
"""malloc=all counts what a counting allocator and valgrind count, exactly; malloc=sample
is right on average.

A program's start-up is not ours to see: libraries initialize before us.  So counts are
differences between many rounds of the same work and one round.
"""
import os
import statistics
import sys

import heap_fidelity as fidelity
import prof

ROUNDS = 40
SECTIONS = ("c", "page", "zero", "new", "throw", "std", "sized", "threads", "keep")
SEEDS = 100


def grown(count, name, section):
    """What ROUNDS more rounds of a section add to the counts."""
    return count(fidelity.program(name, section, ROUNDS + 1)) - \
        count(fidelity.program(name, section, 1))


def traced(command, **given):
    with prof.folder() as log:
        run = fidelity.launch(command, log, **given)
        alone = prof.plain(command)
        assert (run.out, run.status) == (alone.stdout, alone.returncode), (run, alone)
        trace = run.only()
        prof.strict(run.paths())
        counts, stats = fidelity.ours(trace), fidelity.heap(trace)["stats"]
        walked = counts.allocs if given.get("malloc_stacks", True) else 0
        assert stats["stacks"] == walked and not stats["disagreed"], (stats, counts)
        return counts


def test_equals_the_reference():
    """Each section: our counts, the reference's, and the reference's behind us."""
    for section in SECTIONS:
        with prof.folder() as work:
            want = grown(lambda command: fidelity.reference(command, work), "every", section)
            assert want.allocs >= ROUNDS, want
            got = grown(traced, "every", section)
            assert got == want, (section, got, want)


def test_equals_the_reference_behind_us():
    """In one process: whatever passes through us arrives there.  Of our own there is at most
    what the loader allocates for a thread of ours, and frees when that one ends, which one
    of the two runs may not need.
    """
    with prof.folder() as work:
        def behind(command):
            with prof.folder() as log:
                out = os.path.join(work, "reference")
                trace = fidelity.launch(command, log, env={"LD_PRELOAD": fidelity.REFERENCE,
                                                          "REF_OUT": out}).only()
                return fidelity.counted(f"{out}.{trace.pid}") - fidelity.ours(trace)

        for section in SECTIONS:
            more = grown(behind, "every", section)
            for calls, size in ((more.allocs, more.bytes), (more.frees, more.freed)):
                assert abs(calls) <= 2 and abs(size) <= 512 * abs(calls), (section, more)


def test_equals_valgrind():
    """valgrind has no pvalloc, and cannot throw exceptions."""
    for section in set(SECTIONS) - {"page", "throw"}:
        want = grown(fidelity.valgrind, "every", section)
        got = grown(traced, "every", section)
        assert got == want, (section, got, want)


def test_stacks_change_no_count():
    for section in ("c", "new"):
        assert grown(traced, "every", section) == \
            grown(lambda command: traced(command, malloc_stacks=False), "every", section)


def test_what_is_kept_is_live():
    """By call site, too: seven blocks a round, each from a line of its own."""
    with prof.folder() as log:
        trace = fidelity.launch(fidelity.program("every", "keep", ROUNDS), log).only()
        kept = list(fidelity.sites(trace, "section_keep")) or list(fidelity.sites(trace, "main"))
        assert sum(site["blocks"] for site in kept) == 7 * ROUNDS, kept
        size = 1000 + 100 + 500 + 640 + 77 + (6 + 50) * 8 + 512
        assert sum(site["live"] for site in kept) == size * ROUNDS, kept
        calls = {site["call"] for site in kept if site["live"]}
        assert calls == {"malloc", "calloc", "realloc", "aligned_alloc", "operator new",
                         "operator new[]"}, calls


def test_nothing_is_live_that_was_freed():
    for section in set(SECTIONS) - {"keep", "threads"}:
        with prof.folder() as log:
            found = fidelity.heap(fidelity.launch(fidelity.program("every", section, 9), log).only())
            total = found["total"]
            assert total["allocs"] == total["frees"] and total["bytes"] == total["freed"], (section, total)
            assert (found["end"]["bytes"], found["end"]["blocks"]) == (0, 0), (section, found["end"])


# ---- sample -------------------------------------------------------------------

def estimates(trace, truth):
    """{(site or "total", what): estimated number}"""
    found = fidelity.heap(trace)
    assert found["mode"] == "sample" and found["weighted"], found["mode"]
    rows = {("total", "allocs"): found["total"]["allocs"], ("total", "bytes"): found["total"]["bytes"],
            ("total", "live"): found["end"]["bytes"], ("total", "blocks"): found["end"]["blocks"]}
    for name in truth:
        mine = list(fidelity.sites(trace, name))
        for what in ("allocs", "bytes", "live", "blocks"):
            rows[name, what] = sum(site[what] for site in mine)
    return rows


def test_sample_is_right_on_average():
    """Estimates of 100 fixed seeds: their mean is within 3 of its standard errors."""
    command = fidelity.program("sample")
    plain = prof.plain(command)
    truth, rows = {}, {}
    for line in plain.stdout.splitlines():
        name, *numbers = line.split()
        truth[name] = dict(zip(("allocs", "bytes", "live", "blocks"), map(int, numbers)))
    want = {(name, what): n for name, row in truth.items() for what, n in row.items()}
    for what in ("allocs", "bytes", "live", "blocks"):
        want["total", what] = sum(row[what] for row in truth.values())
    for seed in range(1, SEEDS + 1):
        with prof.folder() as log:
            run = fidelity.launch(command, log, malloc="sample", malloc_sample_kb=64,
                                  env={"PROF_MALLOC_SEED": str(seed)})
            assert run.out == plain.stdout
            for key, value in estimates(run.only(), truth).items():
                rows.setdefault(key, []).append(value)
    for key, values in rows.items():
        mean, error = statistics.mean(values), statistics.stdev(values) / SEEDS ** 0.5
        print(f"{' '.join(key)}: {mean:.0f} +- {error:.0f}, truth {want[key]}")
        # A huge block is always seen: its estimates hardly differ from each other.
        assert abs(mean - want[key]) <= 3 * error + 1e-4 * want[key], (key, mean, error, want[key])
        assert error <= 0.1 * want[key], (key, error)


def test_a_seed_is_a_sample():
    """The same seed, the same sample; another seed, another."""
    found = []
    for seed in (5, 5, 6):
        with prof.folder() as log:
            run = fidelity.launch(fidelity.program("sample"), log, malloc="sample",
                                  malloc_sample_kb=64, env={"PROF_MALLOC_SEED": str(seed)})
            found.append(fidelity.ours(run.only()).row())
    assert found[0] == found[1] != found[2], found


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
