#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
# run: full
"""Forks while four threads are in malloc; more events than there is room for.

HEAP_ROUNDS   forks where children are recorded, too
HEAP_STORM    forks where they are not
HEAP_PAIRS    pairs of malloc and free at the cap: 10^8 events
"""
import os
import sys

import heap_fidelity as fidelity
import prof

ROUNDS = int(os.environ.get("HEAP_ROUNDS", 200))
STORM = int(os.environ.get("HEAP_STORM", 10_000))
PAIRS = int(os.environ.get("HEAP_PAIRS", 50_000_000))
THREADS, EACH = 4, 60


def check(trace, threads, pairs):
    """Every block of every thread is there: none lost, none twice, none left."""
    again = (pairs + 2) // 3  # every third is resized, which is a free and an allocation
    made = list(fidelity.sites(trace, "storm_deep"))
    mine = list(fidelity.sites(trace, "storm_pair"))
    assert sum(site["allocs"] for site in made) == threads * pairs, made
    assert sum(site["allocs"] for site in mine) == threads * (pairs + again), mine
    for site in mine:
        assert site["frees"] == site["allocs"] and not site["live"], site


def storm(rounds, **given):
    """The parent's trace is whole; so are those of its children, if they have any."""
    with prof.folder() as log:
        run = fidelity.launch(fidelity.program("storm", rounds, EACH), log, timeout=3000, **given)
        assert run.out == f"made {THREADS * rounds * EACH} wrong 0\n", (run.out, run.err)
        parent, *others = sorted(run.traces(), key=lambda trace: -fidelity.ours(trace).allocs)
        check(parent, THREADS, rounds * EACH)
        for child in others:
            check(child, 1, 50)
        prof.strict(run.paths()[:20])
        assert not run.left_over(), run.left_over()
        return len(others)


def test_fork_under_load():
    assert storm(STORM, children=False) == 0


def test_fork_under_load_with_children_recorded():
    assert storm(ROUNDS, children="each") == ROUNDS


def test_fork_under_load_sampled_and_counted():
    for mode in ("sample", "count"):
        with prof.folder() as log:
            run = fidelity.launch(fidelity.program("storm", ROUNDS, EACH), log, malloc=mode,
                                  children=False, timeout=3000)
            assert run.out == f"made {THREADS * ROUNDS * EACH} wrong 0\n", (run.out, run.err)
            assert fidelity.heap(run.only())["mode"] == mode


def test_kept_and_dropped_are_all():
    """What does not fit is counted: with what is in the file it adds up to all."""
    for threads, given in ((1, {}), (2, {"malloc_stacks": False})):
        command = fidelity.program("pair", PAIRS, 3, threads)
        small = fidelity.program("pair", 1, 3, threads)
        with prof.folder() as work:
            want = fidelity.reference(small, work)
            more = (PAIRS - 1) * threads
        with prof.folder() as log:
            run = fidelity.launch(command, log, buffer_mb=64, timeout=3000, **given)
            trace = run.only()
            prof.strict(run.paths())
            total, drops = trace.facts["heap"]["total"], trace.facts["drops"]
            allocs = total["allocs"] + drops["heap_allocations"]
            frees = total["frees"] - total.get("implied_frees", 0) + total["foreign_frees"] + \
                drops["heap_frees"]
            assert (allocs, frees) == (want.allocs + more, want.frees + more), \
                (total, drops, want, more)
            assert drops["heap_allocations"] > 0 and drops["heap_frees"] > 0, drops
            assert "not recorded" in run.err and "--buffer-mb" in run.err, run.err


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
