#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
# run: full
"""Each function that we call of CUPTI fails, in several ways: the program is as without us,
and the file has every row that it has otherwise, or one line says what is missing.

The functions are those of agent/cupti/lib/api.def, so that a new one is in this test.
"""
import collections
import os
import re
import sys

import cuda
import prof

with open("agent/cupti/lib/api.def", encoding="utf-8") as table:
    CALLED = ["cupti" + name for name in re.findall(r"^API\((\w+),", table.read(), re.M)]
VERSIONS = ("11.8", "12.8", "13.0", cuda.NEWEST)
CODES = (35, 39, 999)  # insufficient privileges, somebody else has subscribed, unknown
GIVEN = {"schedule": "wait=1,active=2,repeat=2", "cuda_sync": True, "cuda_latency": True,
         "cuda_memory": True}
STEPS = 6


def lines(run):
    """Our lines about the GPU, without the summary of what is in the files."""
    return [line for line in run.err.splitlines() if re.match(r"proflaunch(\[\d+\])?: ", line) and
            re.search("GPU|CUPTI|CUDA", line) and
            not re.match("proflaunch: (on the GPU:|torch-tb-profiler |[0-9]+ trace files? in )", line)]


def rows(run):
    """Of each window: how many rows of each category and name, and how many say when they
    were queued (cuda_latency)."""
    found = []
    for trace in run.traces():
        seen = collections.Counter((e["cat"], e["name"]) for e in trace.slices
                                   if not e["name"].startswith("ProfilerStep#"))
        seen.update(("cuda_memory", e["name"]) for e in trace.raw["traceEvents"]
                    if e.get("cat") == "cuda_memory")
        seen["queued"] = sum(bool(k["args"]["queued"]) for k in cuda.of(trace, "kernel"))
        found.append({key: n for key, n in seen.items() if key[0] != "overhead"})
    return found


def launch(version, log, error, **fake):
    if error:
        fake["ERROR"] = error
    run = cuda.run(version, "loop", STEPS, log, fake=fake, check=False, **GIVEN)
    if run.paths():
        prof.strict(run.paths())
    return run


def compare(version, error, whole):
    with prof.folder() as log:
        run = launch(version, log, error)
        without = cuda.without(version, "loop", STEPS, ERROR=error)
        assert (run.status, run.out) == without, (version, error, run.out, run.err)
        said, found = lines(run), rows(run)
        # Of steps alone there is no file.
        assert len(run.paths()) == 2 or said, (version, error, run.err)
        what = (version, error, said, found, whole, run.err, [t.facts for t in run.traces()])
        # The program's own line; the closing one sums up the gaps.
        assert sum(line.startswith("proflaunch[") for line in said) <= 1, what
        assert said or found == whole, what


def every_error(version, errors):
    with prof.folder() as log:
        run = launch(version, log, None)
        whole = rows(run)
        assert len(whole) == 2 and not lines(run), run.err
        for seen in whole:
            assert seen["kernel", "alpha(float*, int)"] == 4, seen
            assert seen["cuda_runtime", "cudaLaunchKernel"] == 8, seen
            assert seen["cuda_sync", "Stream Sync"] == 4, seen
    for error in errors:
        compare(version, error, whole)


def known(version):
    """Those of our functions that this version has."""
    with open(cuda.library(version, "cupti"), "rb") as library:
        names = library.read()
    return {name for name in CALLED if b"\0" + name.encode() + b"\0" in names}


# What is called only where another one has failed.
TOGETHER = [f"{name}={{0}},cuptiUnsubscribe={{0}},cuptiGetResultString={{0}},cuptiGetErrorMessage={{0}}"
            for name in ("cuptiSubscribe", "cuptiActivityRegisterCallbacks", "cuptiActivityFlushAll")]
TOGETHER.append("cuptiSubscribe=39,cuptiSubscribe_v2={0},cuptiUnsubscribe={0}")
ERRORS = [name + "={0}" for name in CALLED] + TOGETHER


def test_errors_from_every_call():
    assert len(CALLED) > 20, CALLED
    for version in VERSIONS:
        every_error(version, [error.format(code) for error in ERRORS for code in CODES])


def test_errors_that_pass():
    for version in VERSIONS:
        every_error(version, [f"{name}=999*1" for name in CALLED])


def test_errors_of_one_kind():
    """Kinds by CUPTI's numbers; the window is open from the start: with the allocations."""
    for version in VERSIONS:
        for error in [None] + [f"cuptiActivityEnable/{kind}=999" for kind in
                               (1, 2, 4, 5, 8, 10, 17, 22, 36, 38, 49)]:
            with prof.folder() as log:
                fake = {"ERROR": error} if error else {}
                run = cuda.run(version, "loop", 2, log, fake=fake, marker="none", cuda_sync=True,
                               cuda_memory=True, check=False)
                assert (run.status, run.out) == cuda.without(version, "loop", 2, **fake), run.err
                said, found = lines(run), rows(run)
                whole = whole if error else found
                what = (version, error, said, found, whole, run.err, [t.facts for t in run.traces()])
                assert (not said and found[0]["cuda_memory", "CUDA allocation"] == 2) if not error \
                    else said or found == whole, what


def refused(version, mode, error, **given):
    """What gave the error, by the fake's log; which takes time: here no rows are counted."""
    with prof.folder() as log:
        path = os.path.join(log, "calls")
        fake = {"ERROR": error.format(999), "LOG": path}
        run = cuda.run(version, mode, STEPS, log, fake=fake, check=False, **given)
        facts = [trace.facts["facts"].get("cuda", {}) for trace in run.traces()]
        with open(path, encoding="utf-8") as calls:
            return {line.split()[0] for line in calls if line.split()[-1] == "999"}, facts, run


def test_each_of_them_is_called():
    """Or the above says nothing."""
    for version in VERSIONS:
        reached = set()
        for error in ERRORS:
            names, facts, run = refused(version, "loop", error, **GIVEN)
            reached |= names
            # Asked too often for the log; so by what comes of it.
            if error.startswith("cuptiActivityGetNextRecord"):
                assert {fact["strides"] for fact in facts} == {"table"}, facts
                reached.add("cuptiActivityGetNextRecord")
            if error.startswith("cuptiGetCallbackName"):
                assert not any(map(cuda.calls, run.traces())), "calls without a name"
                reached.add("cuptiGetCallbackName")
        reached |= refused(version, "collect", "cuptiActivityDisable={0}", marker="none")[0]
        # Looked up, and called by nobody.
        left = known(version) - reached - {"cuptiGetErrorMessage"}
        assert not left, (version, left)


def test_switching_off_fails():
    """What is to be recorded is, whatever comes of the rest."""
    for version in VERSIONS:
        for code in CODES:
            with prof.folder() as log:
                fake = {"ERROR": f"cuptiActivityDisable={code}"}
                run = cuda.run(version, "collect", 4, log, fake=fake, marker="none", check=False)
                assert (run.status, run.out) == cuda.without(version, "collect", 4, **fake), run.err
                trace = run.only()
                least = cuda.times(2, cuda.STEP)
                assert all(n >= least[kind] for kind, n in cuda.counts(trace).items()), run.err
                found = cuda.calls(trace)
                assert all(found[name] >= 2 * n for name, n in cuda.STEP_CALLS.items()), found
                prof.strict(run.paths())


prof.main(sys.modules[__name__])
