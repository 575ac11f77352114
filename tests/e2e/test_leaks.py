#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""What `memory --leaks` says of planted programs: tests/leaks, a small part of its bench."""
import os
import sys
import tempfile

import prof

sys.path.insert(0, os.path.join(prof.HERE, "..", "leaks"))
import bench                                    # noqa: E402

# What was once called no leak, and what is none.
RUN = ("every_second", "every_tenth", "tiny_many", "python_objects", "steady", "cache_lru", "sawtooth_short")


def planted(run, keep):
    with tempfile.TemporaryDirectory(prefix="proflaunch.leaks.") as folder:
        program = bench.build(folder)
        known = [shape for shape in bench.shapes(program) if keep(shape)]
        assert known
        return known, *bench.measure("test", run, known, (1,), folder, program)


def test_no_leak_is_missed_and_none_made_up():
    """Of each program, size and mode one file; with a sample or counters some cannot be told."""
    known, tallies, _, wrong = planted(bench.told, lambda shape: True)
    assert not wrong, wrong
    assert tallies["all"].runs() == len(known) * len(bench.SIZES), vars(tallies["all"])
    assert not sum(tallies["all"].unsure.values()), vars(tallies["all"])
    for mode, tally in tallies.items():         # 4 to 9 % of many seeds: docs/measured/leaks.md
        assert sum(tally.unsure.values()) < tally.runs() // 5, (mode, vars(tally))


def really_all(program, shape, size, mode, seed, folder):
    return bench.really(program, shape, size, mode, seed, folder) if mode == "all" else (False, 0, "")


def test_programs_that_really_do_it():
    _, tallies, _, wrong = planted(really_all, lambda shape: shape.name in RUN)
    assert not wrong, wrong
    assert tallies["all"].right > 5 and tallies["all"].quiet > 5, vars(tallies["all"])


prof.main(sys.modules[__name__])
