#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of the functions that we stand in front of, against the headers of each CUPTI."""
import glob
import os
import re
import sys

import prof

ROOT = os.path.join(prof.HERE, "..", "..")
VERSIONS = 9
# Families of which every function has a row.
FAMILIES = re.compile(r"(cudaLaunch|__cudaLaunchKernel|cudaGraphLaunch|cudaMemcpy|cudaMemset|"
                      r"cudaMalloc|cudaFree|cudaHostAlloc|cudaHostRegister|cudaHostUnregister|"
                      r"cuda(Device|Stream|Event)Synchronize|cudaStreamWaitEvent|cudaEventRecord)")
# ... but for what ended before 11.7, or only has a number.
GONE = {"cudaLaunch", "cudaLaunch_ptsz"}
# Rows that no callback tells of.
SILENT = {"__cudaRegisterFunction", "__cudaGetKernel"}


def headers(which):
    found = sorted(glob.glob(os.path.join(prof.BUILD, "cupti", "*", "include", f"cupti_{which}_cbid.h")))
    if len(found) < VERSIONS:
        raise AssertionError(f"{len(found)} headers: tests/setup.sh test")
    return found


def told(which):
    """name -> versions of CUPTI that know it; _v7000 and the like are CUPTI's own."""
    names = {}
    for path in headers(which):
        with open(path, encoding="utf-8") as file:
            for name in re.findall(r"_TRACE_CBID_(\w+) *=", file.read()):
                name = re.sub(r"_v\d{4,}$", "", name)
                names.setdefault(name, set()).add(path.split(os.sep)[-3])
    return names


def rows(table):
    with open(os.path.join(ROOT, "agent", "cuda", table), encoding="utf-8") as file:
        return re.findall(r"^HOOK\(\w+, (\w+),", file.read(), re.M)


def test_every_row_is_a_function():
    for table, which in (("cudart.def", "runtime"), ("driver.def", "driver")):
        names, known = rows(table), told(which)
        assert len(names) == len(set(names)), table
        unknown = [name for name in names if name not in known and name not in SILENT]
        assert not unknown, (table, unknown)


def test_every_function_has_a_row():
    names = set(rows("cudart.def"))
    missing = {name: sorted(versions) for name, versions in told("runtime").items()
               if FAMILIES.match(name) and name not in names and name not in GONE}
    assert not missing, missing


prof.main(sys.modules[__name__])
