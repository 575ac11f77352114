#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""The ways into CUPTI, with and without a CUDA runtime, an injection, a library to find."""
import os
import shutil
import subprocess
import sys

import cuda
import prof

SOME = (cuda.VERSIONS[0], "12.8", cuda.NEWEST)


def driver(version, steps, log, fake=None, **given):
    return prof.launch([prof.prog("cuda_driver"), str(steps)], log,
                       env=cuda.environment(version, **(fake or {})), **given)


def driver_version(version):
    """The loader's libcupti is taken by the driver's major where no runtime is mapped."""
    return {"DRIVER": int(version.split(".")[0]) * 1000 + int(version.split(".")[1]) * 10}


def test_without_a_runtime():
    """It is linked into the program: the driver's calls are what there is."""
    for version in SOME:
        with prof.folder() as log:
            run = driver(version, 6, log, driver_version(version), schedule="wait=1,active=2,repeat=1")
            trace = run.only()
            assert cuda.counts(trace)["kernel"] == 2, (version, run.err)
            assert cuda.calls(trace) == {"cuLaunchKernel": 2}, (version, cuda.calls(trace))
            facts = trace.facts["facts"]["cuda"]
            assert facts["runtime"] == 0 and facts["file"].startswith(cuda.folder(version)), facts
            cuda.whole(trace)
            prof.strict(run.paths())


def test_all_driver_calls():
    for wanted in (False, True):
        with prof.folder() as log:
            trace = driver(cuda.NEWEST, 6, log, schedule="wait=1,active=2,repeat=1",
                           cuda_driver_calls=wanted).only()
            want = {"cuLaunchKernel": 2, **({"cuCtxSynchronize": 2} if wanted else {})}
            assert cuda.calls(trace) == want, (wanted, cuda.calls(trace))


def test_no_context_on_a_gpu_that_is_not_used():
    for version in SOME:
        with prof.folder() as log:
            fake = {"DEVICES": 4, **driver_version(version)}
            run = driver(version, 4, log, fake, marker="none")
            assert run.out == "0 failed; GPU 0: in use; GPU 1: untouched; GPU 2: untouched; " \
                "GPU 3: untouched;\n", (version, run.out)
            assert cuda.counts(run.only())["kernel"] == 4, run.err


def test_hooks_are_the_second_way_in():
    """A driver that does not look at the variable: the runtime's first launch tells us."""
    for version in cuda.VERSIONS:
        with prof.folder() as log:
            run = prof.launch([cuda.example(version), "320"], log, marker="kernel:*update*",
                              env=cuda.environment(version, INJECT=0),
                              schedule="wait=5,warmup=300,active=4,repeat=1")
            trace = run.only()
            assert cuda.counts(trace) == {"kernel": 12, "gpu_memcpy": 16, "gpu_memset": 8}, \
                (version, cuda.counts(trace), run.err)
            assert trace.facts["facts"]["cuda"]["attached"] == "late", trace.facts
            cuda.whole(trace)


def test_no_cupti():
    """One line says what to install; the program's output is the same."""
    with prof.folder() as log, prof.folder() as libraries:
        for name in os.listdir(cuda.folder("12.8")):
            if name.startswith(("libcuda.", "libcudart.")):
                shutil.copy(os.path.join(cuda.folder("12.8"), name), libraries)
        env = {"LD_LIBRARY_PATH": libraries, "CUDART": os.path.join(libraries, "libcudart.so.12")}
        words = [prof.prog("cuda_work"), "loop", "4"]
        bare = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, **env})
        run = prof.launch(words, log, env=env, marker="none")
        assert run.out == bare.stdout, run.out
        said = [line for line in run.err.splitlines() if "GPU" in line]
        assert len(said) == 1 and "no libcupti for CUDA 12 was found" in said[0] and \
            "nvidia-cuda-cupti-cu12" in said[0], run.err
        assert not run.paths(), run.paths()


prof.main(sys.modules[__name__])
