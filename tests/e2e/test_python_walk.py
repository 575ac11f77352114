#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 200
"""What we read of Python's frames is what the interpreter says, in every version that is here.

tests/python/shapes.py compares whole stacks at some thousand places, without torch and
without the launcher: build/prog/python_walk.so has the agent's own code. slots.py watches
calls, modules.py and entered.py those of modules.
"""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys

import prof

LIBRARY = os.path.join(prof.BUILD, "prog", "python_walk.so")
PROGRAMS = os.path.join(prof.HERE, "..", "python")
KNOWN = range(8, 15)
AFTER_PYTHON = 9        # python_walk.c


def versions():
    """(3, 11, 2, real path) -> path: the system's, the tests' own, and pyenv's."""
    found = {}
    for path in ("/usr/bin/python3", os.path.join(prof.BUILD, "venv", "bin", "python"),
                 *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python"))),
                 *os.environ.get("PYTHON_WALK_ALSO", "").split()):
        if os.path.exists(path):
            version = prof.plain([path, "-c", "import sys; print('%d %d %d' % sys.version_info[:3])"]).stdout
            found.setdefault((*map(int, version.split()), os.path.realpath(path)), path)
    return dict(sorted(found.items()))


def run(path, program, *args, env=(), status=0):
    process = subprocess.run([path, os.path.join(PROGRAMS, program), *args], capture_output=True, text=True,
                             timeout=300, check=False, stdin=subprocess.DEVNULL,
                             env={**os.environ, "PYTHON_WALK": LIBRARY, **dict(env)})
    assert process.returncode == status, (path, program, args, process.returncode, process.stdout, process.stderr)
    return process


def each(function, known=True):
    """Two interpreters at once; says which there were."""
    prof.prog("python_walk.so")
    here = {key: path for key, path in versions().items() if (key[0] == 3 and key[1] in KNOWN) == known}
    if not here:
        raise prof.Skip("no such interpreter is here")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for key, said in zip(here, pool.map(function, here.values())):
            print("  Python", ".".join(map(str, key[:3])) + ":", said, flush=True)


def shapes(path, *args, **env):
    """What the agent counted: stacks it compared itself, those that differed, that were cut, that
    had no room; and how many were compared here."""
    said = run(path, "shapes.py", *args, env=env.items()).stdout
    found = re.search(r"counted \[(\d+), (\d+), (\d+), (\d+)\]\nok (\d+)$", said.strip())
    assert found, said
    checked, disagreed, cut, no_room, compared = map(int, found.groups())
    assert checked and not disagreed and cut, said
    return checked, no_room, compared


def test_every_shape():
    def every(path):
        checked, no_room, compared = shapes(path)
        assert not no_room and compared > 20000, (no_room, compared)
        return f"{compared} stacks as the interpreter has them, {checked} by the agent's own comparison"
    each(every)


def test_functions_that_are_watched():
    each(lambda path: run(path, "slots.py").stdout.split()[-1])


def test_modules():
    each(lambda path: run(path, "modules.py").stdout.split()[-1])


def test_modules_that_a_thread_is_in_when_a_window_begins():
    each(lambda path: run(path, "entered.py").stdout.split()[-1])


def test_a_spool_that_is_full():
    """Then there is no stack, or the right one."""
    def full(path):
        _, no_room, compared = shapes(path, "-t")
        assert no_room and compared > 1000, (no_room, compared)
        return f"{compared} stacks, no room for {no_room}"
    each(full)


@prof.full
def test_every_shape_with_other_allocators():
    """Freed memory is overwritten, and addresses are used again in another order."""
    def every(path):
        return ", ".join(str(shapes(path, PYTHONMALLOC=name)[2]) for name in ("debug", "malloc", "malloc_debug"))
    each(every)


def within_malloc(path, command, log, malloc, status=0):
    """What build/prog/python_malloc.so counts of a command's processes: walks and frames."""
    out = os.path.join(log, "counts")
    done = prof.plain([path, *command], cwd=log, timeout=1200, env={
        **os.environ, "PYTHON_WALK": LIBRARY, "PYTHON_MALLOC_OUT": out, "PYTHONMALLOC": malloc,
        "LD_PRELOAD": prof.prog("python_malloc.so")})
    assert done.returncode == status, (path, command, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    with open(out, encoding="utf-8") as file:
        said = file.read()
    assert "differs" not in said, (path, said[:3000])
    rows = re.findall(r"^walks (\d+) locked (\d+) frames (\d+) early \d+ differ 0$", said, re.M)
    return [sum(map(int, column)) for column in zip(*rows)]


def test_frames_read_from_within_malloc():
    """While the interpreter makes frames and takes them down; each object of Python's goes through
    malloc, and what is freed is overwritten."""
    def every(path):
        with prof.folder() as log:
            walks, _, frames = within_malloc(path, [os.path.join(PROGRAMS, "shapes.py")], log, "malloc_debug")
            assert walks > 100000, walks
            return f"{walks} walks, {frames} frames"
    each(every)


CPYTHON = ("test_generators test_coroutines test_asyncgen test_threading test_gc test_exceptions test_frame "
           "test_tracemalloc test_sys_setprofile test_sys_settrace test_code test_class test_descr test_weakref "
           "test_super test_call test_extcall test_yield_from test_contextlib test_traceback").split()


@prof.full
def test_frames_read_from_within_malloc_in_cpythons_own_tests():
    def every(path):
        if prof.plain([path, "-c", "import test.test_gc"]).returncode:
            return "without CPython's tests"
        with prof.folder() as log:
            words = ["-m", "test", "-q", *CPYTHON]
            bare = prof.plain([path, *words], cwd=log, timeout=1200)
            walks, _, frames = within_malloc(path, words, log, "default", bare.returncode)
            return f"{walks} walks, {frames} frames"
    each(every)


def ends(path, malloc, rounds):
    for n in range(rounds):
        said = run(path, "at_exit.py", str(n % 5), env={"PYTHONMALLOC": malloc}.items(), status=AFTER_PYTHON)
        assert not said.stdout and not said.stderr, (path, said.stdout, said.stderr)
    return "ended well"


def test_the_interpreters_end():
    each(lambda path: ends(path, "default", 5))


@prof.full
def test_the_interpreters_end_often():
    """A thread's state is freed while the thread is in C: that overwrites it here."""
    each(lambda path: ends(path, "debug", 60))


def test_other_versions_are_refused():
    def refused(path):
        said = run(path, "refused.py").stdout
        assert re.match(r"started \[0, 0, 0\], ids \[0, 0, 0\]: \S", said), said
        return said.strip().partition(": ")[2]
    each(refused, known=False)


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
