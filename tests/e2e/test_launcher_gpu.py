#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the launcher says of the GPU when the program has ended."""
import os
import re
import sys

import cuda
import prof

STEPS = 20


def lines(log, fake=None, **given):
    run = cuda.run("13.0", "loop", STEPS, log, fake=fake, marker="none", **given)
    return [line[len("proflaunch: "):] for line in run.err.splitlines() if line.startswith("proflaunch: ")]


def one(said, pattern):
    found = [line for line in said if re.fullmatch(pattern, line)]
    assert len(found) == 1, f"{pattern}\n" + "\n".join(said)
    return re.fullmatch(pattern, found[0])


def test_what_was_recorded():
    with prof.folder() as log:
        said = lines(log)
        memory = STEPS * (cuda.STEP["gpu_memcpy"] + cuda.STEP["gpu_memset"])
        one(said, rf"on the GPU: {STEPS * cuda.STEP['kernel']} kernels, {memory} memory operations, "
                  r"from \d+ CUDA calls")
        assert not any("GPU record" in line for line in said), said


def test_whole_graphs():
    with prof.folder() as log:
        run = cuda.run("13.0", "graph", 5, log, marker="none", cuda_graphs="graph")
        one([line[len("proflaunch: "):] for line in run.err.splitlines()],
            r"on the GPU: 5 graphs, 0 memory operations, from \d+ CUDA calls")


def test_what_was_lost():
    with prof.folder() as log:
        said = lines(log, {"DROP_EVERY": 10})
        one(said, r"\d+ GPU records lost: cuda_buffer_mb = 64 was full: try --cuda-buffer-mb 256")
        one(said, r"\d+ launches whose GPU work never came back")
    with prof.folder() as log:
        said = lines(log, {"ZERO_EVERY": 10}, cuda_device_buffer_mb=32)
        one(said, r"8 GPU records without a time: cuda_device_buffer_mb = 32 was full, or .*"
                  r"; try --cuda-device-buffer-mb 128")
    with prof.folder() as log:
        one(lines(log, {"REVERSED_EVERY": 10}), r"8 GPU records with times that cannot be, left out: .*")


def test_operators_alone():
    with prof.folder() as log:
        said = lines(log, activities="cpu")
        assert not any("GPU" in line for line in said), said


def test_an_agent_around_us():
    """The variable that an agent of another installation set is not a foreign tool's."""
    shell = ["/bin/sh", "-c", "echo $CUDA_INJECTION64_PATH"]
    for value, want in (("/elsewhere/lib/libproflaunch.so", prof.AGENT), ("/opt/tool.so", "/opt/tool.so")):
        with prof.folder() as log:
            run = prof.launch(shell, log, env={"CUDA_INJECTION64_PATH": value})
            assert os.path.realpath(run.out.strip()) == os.path.realpath(want), run.out


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
