#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A host in C opens and closes libraries that bring operator new and delete with them:
each block goes back to where it came from, and what is gone is not called again.
"""
import os
import sys

import heap_fidelity as fidelity
import prof

A, B, POOL, SHARED = (os.path.join(fidelity.HEAP, f"plugin-{name}.so")
                      for name in ("a", "b", "pool", "shared"))
WAYS = {
    "one after the other": ["+" + A, "=" + A, "-" + A, "+" + B, "=" + B, "-" + B],
    "the first goes while the second stays":
        ["+" + A, "=" + A, "+" + B, "(" + B, "-" + A, ")" + B, "=" + B],
    "a pool of its own": ["+" + A, "=" + A, "+" + POOL, "=" + POOL, "(" + POOL, "=" + A,
                          ")" + POOL],
    "a pool first": ["+" + POOL, "(" + POOL, "+" + A, "=" + A, "+" + SHARED, "=" + SHARED,
                     ")" + POOL, "=" + A],
    "the pool goes": ["+" + POOL, "=" + POOL, "+" + A, "(" + A, "-" + POOL, ")" + A, "=" + A],
    "the C++ library comes and goes":
        ["+" + SHARED, "=" + SHARED, "-" + SHARED, "+" + A, "=" + A, "+" + SHARED, "=" + SHARED],
}


def test_as_without_us():
    for name, what in WAYS.items():
        alone = prof.plain([*fidelity.program("plugins"), *what])
        assert alone.returncode == 0, (name, alone)
        for mode in ("off", "count", "sample", "all"):
            with prof.folder() as log:
                run = fidelity.launch([*fidelity.program("plugins"), *what], log, malloc=mode)
                assert (run.out, run.status) == (alone.stdout, 0), (name, mode, run.out, run.err)


def test_each_block_of_mallocs_is_recorded():
    for name, what in WAYS.items():
        blocks = sum(step[0] in "=(" and step[1:] != POOL for step in what)
        with prof.folder() as log:
            run = fidelity.launch([*fidelity.program("plugins"), *what], log)
            made = list(fidelity.sites(run.only(), "make"))
            assert sum(site["allocs"] for site in made) == blocks, (name, blocks, made)
            assert sum(site["frees"] for site in made) == blocks, (name, blocks, made)


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
