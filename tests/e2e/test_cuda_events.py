#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""CUDA events: who waits for whom, and from 13.0 on when the GPU came to an event."""
import sys

import cuda
import prof

FAKE = {"KERNELS": "*alpha*=400000,*beta*=200000"}
TIMES_SINCE = "13.0"  # cuptiActivityEnableCudaEventDeviceTimestamps


def has_times(version):
    return tuple(map(int, version.split("."))) >= tuple(map(int, TIMES_SINCE.split(".")))


def end_of(event):
    return cuda.ns(event["ts"]) + cuda.ns(event["dur"])


def check(trace, version, steps):
    kernels = {name: [k for k in cuda.of(trace, "kernel") if k["name"].startswith(name)]
               for name in ("alpha", "beta")}
    records, waits = trace.named("cudaEventRecord"), trace.named("Stream Wait Event")
    assert len(records) == len(waits) == steps, (version, len(records), len(waits))
    for alpha, beta, record, wait in zip(kernels["alpha"], kernels["beta"], records, waits):
        args = wait["args"]
        assert args["wait_on_cuda_event_record_corr_id"] == record["args"]["correlation"], wait
        assert args["wait_on_stream"] == alpha["args"]["stream"], (wait, alpha)
        assert args["stream"] == beta["args"]["stream"] != alpha["args"]["stream"], (wait, beta)
        assert cuda.ns(beta["ts"]) + 1 >= end_of(alpha), (alpha, beta)
    events = cuda.of(trace, "cuda_event")
    assert len(events) == (steps if has_times(version) else 0), (version, len(events))
    for event, alpha, record in zip(events, kernels["alpha"], records):
        assert event["args"]["correlation"] == record["args"]["correlation"], event
        # What begins where another ends does not overlap it: one row.
        assert (event["pid"], event["tid"]) == (alpha["pid"], alpha["tid"]), event
        # On a busy machine it is recorded when the kernel has ended.
        late = end_of(record) > end_of(alpha)
        assert late or abs(cuda.ns(event["ts"]) - end_of(alpha)) <= 100, (event, alpha)


def test_events():
    for version in cuda.VERSIONS:
        status, out = cuda.without(version, "events", 5, **FAKE)
        with prof.folder() as log:
            run = cuda.run(version, "events", 5, log, fake=FAKE, cuda_sync=True,
                           schedule="wait=1,active=3,repeat=1")
            assert (run.status, run.out) == (status, out), (version, run.out, run.err)
            check(run.only(), version, 3)
            cuda.whole(run.only())
            prof.strict(run.paths())


def test_no_times_of_events():
    """CUPTI does not give them: one line says so, for they were asked for."""
    for version in filter(has_times, cuda.VERSIONS):
        with prof.folder() as log:
            fake = {**FAKE, "ERROR": "cuptiActivityEnableCudaEventDeviceTimestamps=999"}
            run = cuda.run(version, "events", 5, log, fake=fake, cuda_sync=True,
                           schedule="wait=1,active=3,repeat=1")
            assert not cuda.of(run.only(), "cuda_event"), version
            assert "CUPTI" in run.err or "cuda_sync" in run.err, (version, run.err)


prof.main(sys.modules[__name__])
