#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 400
# run: full
"""tests/gpu/run without a GPU: it says so; and its checks work, as far as a fake goes."""
import json
import os
import sys

import cuda
import prof

RUN = os.path.join(prof.HERE, "..", "gpu", "run")
# What needs no torch and nothing that only NVIDIA's libraries have.
HERE = ("doctor", "assumed", "strides", "nested", "clock", "thread_buffers", "dirty", "foreign", "disable",
        "exits", "tee", "subscriber", "agents", "graph_long", "launch", "launch_driver", "after")


def test_without_a_driver():
    if os.path.exists("/dev/nvidiactl"):
        raise prof.Skip("there is a driver")
    process = prof.plain([RUN])
    assert process.returncode == 77, process
    assert process.stdout.strip().endswith("no NVIDIA driver here"), process


def test_list():
    """Every check has a line, every assumption of the fake a check."""
    process = prof.plain([RUN, "--list"])
    assert process.returncode == 0, process.stdout + process.stderr
    assert all(f"\n{name} " in "\n" + process.stdout for name in HERE), process.stdout


def test_on_the_fake():
    with prof.folder() as out:
        environment = {**os.environ, **cuda.environment("13.0", DEVICES=2), "GPU_QUICK": "20",
                       "PATH": "/usr/bin:/bin"}
        for name in ("CUDART", "CUPTI"):
            environment.pop(name)
        process = prof.plain([RUN, "--out", os.path.join(out, "results"), "--python", sys.executable,
                              "--only", ",".join(HERE)], env=environment, timeout=350)
        with open(os.path.join(out, "results", "results.json"), encoding="utf-8") as file:
            found = json.load(file)["checks"]
        states = {name: one["state"] for name, one in found.items()}
        # Times on a fake say nothing: only that they could be taken.
        bad = {name: one for name, one in found.items() if one["state"] == "failed"
               and not (name == "launch" and "launch: goal" in str(one["not as it should be"]))}
        assert set(states) == set(HERE) and not bad, (bad, process.stdout[-3000:])
        with open(os.path.join(out, "results", "summary.md"), encoding="utf-8") as file:
            text = file.read()
        assert all(f"| {name} |" in text for name in HERE), text
        assert os.path.exists(os.path.join(out, "results.tar.gz"))


prof.main(sys.modules[__name__])
