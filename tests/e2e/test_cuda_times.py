#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""Kernels at awkward times: which window they are in, and when its file comes."""
import sys

import cuda
import prof

BEFORE = "GPU work from before the window"


def run(version, mode, count, log, alpha_ns, **given):
    return cuda.run(version, mode, count, log, program="cuda_times",
                    fake={"KERNELS": f"*alpha*={alpha_ns}"}, **given)


def test_work_from_before_the_window():
    """A step that launches nothing has no kernels, whatever still runs in it; also with
    a CUPTI (12.8) in which kernels stay on when calls go off."""
    for version in ("11.8", "12.8", cuda.NEWEST):
        with prof.folder() as log:
            traces = run(version, "quiet", 9, log, 20_000_000, schedule="wait=2,active=1").traces()
            traces = [t for t in traces if t.steps()]
            assert [t.steps() for t in traces] == [[2], [5], [8]], [t.steps() for t in traces]
            found = [cuda.counts(t)["kernel"] for t in traces]
            assert found == [0, 0, 0], (version, found)
            before = sum(cuda.cuda_facts(t).get(BEFORE, 0) for t in traces)
            assert (before > 0) == (version == "12.8"), (version, before)
            prof.strict([t.path for t in traces])


prof.main(sys.modules[__name__])
