#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""What `make demo-gpu` leaves: one plain file, with all that a GPU does in it."""
import collections
import os
import subprocess
import sys

import cuda
import prof

DEMO = os.path.join(prof.HERE, "..", "demo_gpu.sh")
ROOT = os.path.abspath(os.path.join(prof.HERE, "..", ".."))
# Of one step of examples/cuda_train.c.
STEP = {"kernel": 3, "gpu_memcpy": 4, "gpu_memset": 2}
LAUNCHES = {"cudaLaunchKernel": 3, "cudaMemcpyAsync": 4, "cudaMemsetAsync": 2}


def demo(folder, version, **environment):
    """In a folder that looks like ours, so that ./log is not ours."""
    for name in "examples", "tests":
        if not os.path.exists(os.path.join(folder, name)):
            os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    given = {key: value for key, value in os.environ.items() if key != "DEMO_LOG"}
    return subprocess.run([DEMO], cwd=folder, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=120,
                          env={**given, "BUILD": prof.BUILD, "FAKE": version, **environment})


def files(folder):
    return sorted(os.path.join(where, name) for where, _, names in os.walk(folder)
                  for name in names)


def check(path):
    trace = prof.Trace(path)
    assert len(trace.steps()) == 4, trace.steps()
    assert cuda.counts(trace) == cuda.times(4, STEP), cuda.counts(trace)
    found = cuda.calls(trace)
    assert {name: found.get(name) for name in LAUNCHES} == cuda.times(4, LAUNCHES), found
    cuda.whole(trace)  # each of them has its call, and an arrow from it
    drawn = cuda.arrows(trace)
    both = [number for number, ends in drawn.items() if ends["s"] and ends["f"]]
    assert len(both) == len(drawn) == 4 * sum(STEP.values()), (len(both), len(drawn))
    names = collections.Counter(k["name"].split("(")[0] for k in cuda.of(trace, "kernel"))
    assert set(names.values()) == {4} and len(names) == 3, names
    prof.strict([path])


def test_one_plain_file_in_log():
    for version in (cuda.VERSIONS[0], "13.0", cuda.NEWEST):
        with prof.folder() as folder:
            process = demo(folder, version)
            assert process.returncode == 0, process.stdout + process.stderr
            left = files(os.path.join(folder, "log"))
            assert len(left) == 1 and left[0].endswith(".pt.trace.json"), left
            check(left[0])
            name = os.path.basename(left[0])
            assert name in process.stdout and "36 for 36" in process.stdout, process.stdout


def test_another_folder_and_again():
    """The second time it shows the second file."""
    with prof.folder() as folder:
        there = os.path.join(folder, "a folder", "of mine")
        seen = []
        for turn in 1, 2:
            process = demo(folder, cuda.NEWEST, DEMO_LOG=there)
            assert process.returncode == 0, process.stdout + process.stderr
            left = files(there)
            assert len(left) == turn, left
            (fresh,) = set(left) - set(seen)
            assert os.path.basename(fresh) in process.stdout, process.stdout
            check(fresh)
            seen = left
        assert not os.path.exists(os.path.join(folder, "log"))


prof.main(sys.modules[__name__])
