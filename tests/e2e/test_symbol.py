#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 200
"""marker = symbol:…: every call of a native function begins a step."""
import os
import shutil
import sys

import prof

CALLS = 12


def run(mode, marker, log, program=None, **given):
    """The program under the marker, and the same without anything: no difference."""
    command = [program or prof.prog("symbols"), mode, str(CALLS)]
    bare = prof.plain(command)
    got = prof.launch(command, log, marker=marker, **given)
    assert (got.status, got.out) == (bare.returncode, bare.stdout), (got.out, bare.stdout, got.err)
    assert not got.left_over(), got.left_over()
    return got


def seen(mode, marker, calls=CALLS, **given):
    """Windows of two steps: their numbers say how often a boundary was seen.  Without a count
    of the heap some of the modes would have nothing but steps, and so no file."""
    with prof.folder() as log:
        got = run(mode, marker, log, schedule="wait=1,active=2", malloc="count", **given)
        steps = [trace.steps() for trace in got.traces()]
        wanted = [[n for n in (k, k + 1) if n <= calls] for k in range(1, calls + 1, 3)]
        assert steps == wanted, (steps, wanted, got.err)
        return got.err


def test_a_local_function_of_the_program():
    seen("local", "symbol:local_work")


def test_an_exported_function_of_the_program():
    seen("exported", "symbol:exported_work")
    seen("exported", "symbol:symbols!exported_work")


def test_variable_arguments():
    seen("variadic", "symbol:variadic_work")


def test_a_library_called_by_way_of_the_plt():
    seen("plt", "symbol:libc.so*!lfind")


def test_a_library_that_calls_itself():
    seen("internal", "symbol:libc.so.6!qsort_r")


def test_unwinding_through_the_function():
    seen("unwind", "symbol:leaving_work")


def test_a_resolver_is_left_alone_and_its_callers_are_seen():
    said = seen("ifunc", "symbol:libc.so.6!wcsnlen")
    assert "IFUNC" in said and "through the dynamic linker" in said, said


def refused(mode, marker, why, **given):
    with prof.folder() as log:
        got = run(mode, marker, log, schedule="active=1", keep_going=True, **given)
        assert not got.paths(), got.paths()
        lines = [line for line in got.err.splitlines() if why in line and "proflaunch[" in line]
        assert len(lines) == 1, (why, got.err)


def test_a_loop_back_to_the_entry_is_refused():
    refused("looping", "symbol:looping_work", "branches back to its first instructions")


def test_a_name_that_is_not_there():
    refused("local", "symbol:no_such_work", "no_such_work")


def test_a_name_that_the_agent_alone_has():
    """We do not patch ourselves."""
    refused("local", "symbol:spool_view_next", "spool_view_next")


def test_a_stripped_program():
    if not shutil.which("strip"):
        raise prof.Skip("there is no strip")
    with prof.folder() as place:
        program = os.path.join(place, "symbols")
        shutil.copy(prof.prog("symbols"), program)
        assert prof.plain(["strip", program]).returncode == 0
        refused("local", "symbol:local_work", "local_work", program=program)


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
