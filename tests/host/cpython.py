#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 7200
# run: alone
"""CPython's own tests: every case that passes bare passes in each mode.

cpython.py [--all] [--mode MODE] [--jobs N] [--python PYTHON] [MODULE ...]

Debian's libpython3.11-testsuite under /usr/bin/python3.11, a module a run; in mode "full" what a profiler can disturb.  A case that
does not pass is tried again, bare and in the mode: "odd" failed once, "FAIL" twice.
"""
import argparse
import concurrent.futures
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import cage
import run

PYTHON = "/usr/bin/python3.11"
SHORT = """test_os test_posix test_subprocess test_threading test_signal test_faulthandler
    test_mmap test_ctypes test_gc test_io test_select test_selectors test_fcntl test_resource
    test_asyncio test_multiprocessing_fork test_multiprocessing_forkserver
    test_multiprocessing_spawn test_multiprocessing_main_handling""".split()
TOLD = """test_sys_setprofile test_sys_settrace test_monitoring test_generators test_coroutines test_asyncgen
    test_threading test_gc test_exceptions test_frame test_tracemalloc test_cprofile test_profile test_import
    test_importlib test_descr test_weakref test_contextlib test_pdb test_bdb""".split()
# docs/host.md says why: names of allocators, and a frame that no profile function may see.
KNOWN = {"stack": {"test_cmd_line.CmdLineTest.test_pythonmalloc", "test_cmd_line.CmdLineTest.test_xdev",
                   "test_sys.SysModuleTest.test_debugmallocstats"},
         "full": {"test_frame.TestIncompleteFrameAreInvisible.test_sneaky_frame_object"}}
BARE_LIMIT = 1200


def read_cases(path):
    """{case: passed, failed, skipped}; the worst where a case ran twice."""
    cases = {}
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except (OSError, xml.etree.ElementTree.ParseError):
        return cases
    for case in root.iter("testcase"):
        tags = {child.tag for child in case}
        result = ("failed" if tags & {"failure", "error"} or case.get("result") == "unexpected-success"
                  else "skipped" if "skipped" in tags else "passed")
        # What fails before a class's first case has no name.
        name = re.sub(r"0x[0-9a-f]+", "0x", case.get("name") or case.get("classname") or "?")
        if cases.get(name) != "failed":
            cases[name] = result
    return cases


def run_module(module, mode, place, limit):
    """(status, {case: result}, seconds, the last lines that it said)."""
    home = tempfile.mkdtemp(prefix="c", dir=place.top)
    for folder in ("w", "log", "w/tmp"):
        os.mkdir(f"{home}/{folder}")
    env = {**run.environment(place, mode, home, 0), "PYTHONDONTWRITEBYTECODE": ""}
    xml_file = f"{home}/cases.xml"
    argv = [os.environ.get("CPYTHON", PYTHON), "-m", "test", "-v", "--junit-xml", xml_file, module]
    try:
        seen = cage.run(run.wrapped(mode, place, f"{home}/log", argv), env, f"{home}/w", limit)
        return (seen.status, read_cases(xml_file), seen.seconds,
                (seen.stdout + seen.stderr).decode(errors="replace").splitlines()[-6:])
    finally:
        shutil.rmtree(home, ignore_errors=True)


def lost(want, got, mode):
    """What passes without us alone, but for what is known to; and how much of that there is."""
    gone = sorted(name for name, result in want.items() if result == "passed" and got.get(name) != "passed")
    other = [name for name in gone if name.removeprefix("test.") not in KNOWN.get(mode, ())]
    return other, len(gone) - len(other)


def try_mode(module, mode, place, bare):
    status, want, seconds, _ = bare
    limit = 60 + 5 * seconds
    got = run_module(module, mode, place, limit)
    gone, known = lost(want, got[1], mode)
    if not gone and (got[0] == status or known):
        return "known" if known else "ok", mode, got[2], []
    again = run_module(module, "bare", place, BARE_LIMIT)
    second = run_module(module, mode, place, limit)
    twice = [name for name in lost(want, second[1], mode)[0] if name in gone and again[1].get(name) == "passed"]
    if not twice and again[0] == second[0]:
        return "odd", mode, got[2], gone[:20] or [got[0]]
    # One that was ended left no results: its last lines tell where.
    found = twice[:20] if second[1] else []
    return "FAIL", mode, got[2], [f"{second[0]} for {status}"] + (found or second[3])


def try_module(job):
    module, modes, place = job
    cage.become_reaper()
    bare = run_module(module, "bare", place, BARE_LIMIT)
    if bare[0] != "exit 0":                     # some depend on the clock
        bare = run_module(module, "bare", place, BARE_LIMIT)
    if not bare[1]:
        return module, bare, []
    return module, bare, [try_mode(module, mode, place, bare) for mode in modes]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--mode", action="append", choices=list(run.MODES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--python", default=PYTHON)
    parser.add_argument("modules", nargs="*")
    options = parser.parse_args()
    os.environ["CPYTHON"] = options.python
    modules = options.modules or (TOLD if options.mode == ["full"] else SHORT)
    if options.all:
        modules = subprocess.run([options.python, "-m", "test", "--list-tests"], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout.split()
    modes = options.mode or run.USUAL
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    place, failed = run.Place(), 0
    try:
        with concurrent.futures.ProcessPoolExecutor(
                options.jobs, multiprocessing.get_context("fork")) as pool:
            jobs = [pool.submit(try_module, (m, modes, place)) for m in modules]
            for done in concurrent.futures.as_completed(jobs):
                module, bare, lines = done.result()
                passed = sum(result == "passed" for result in bare[1].values())
                print(f"bare {module:34} {bare[2]:7.1f} s, {passed} cases pass"
                      + ("" if lines else f", not comparable: {bare[0]}"), flush=True)
                for verdict, mode, seconds, found in lines:
                    print(f"{verdict:4} {module:34} {mode:8} {seconds:7.1f} s", flush=True)
                    for line in found:
                        print(f"       {line}", flush=True)
                failed += sum(line[0] == "FAIL" for line in lines)
    finally:
        place.remove()
    print(f"{len(modules)} modules, {failed} runs not as bare")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
