# SPDX-License-Identifier: Apache-2.0
"""torch.profiler around the interesting part of a fidelity program.

    with profiled():
        train()

When FIDELITY_OUT names a folder, torch's own trace of the block goes to
<folder>/<pid>.json.  Two annotations, begin and end, mark the first and the last
moment that both profilers have seen for certain.

torch 1.13 as Debian builds it has no Kineto.  There the events of its older
profiler are written in the same shape, with "legacy": 1: no types, strides,
concrete inputs, memory events or flows, times in whole microseconds, one thread
only, and its ordinal instead of its thread id.
"""
import contextlib
import json
import os

import torch
from torch.profiler import ProfilerActivity, profile, record_function

BEGIN, END = "fidelity::begin", "fidelity::end"


@contextlib.contextmanager
def profiled(all_threads=False):
    """all_threads: torch.profiler sees one thread by default; there is no memory with all."""
    folder = os.environ.get("FIDELITY_OUT")
    if not folder:
        yield
        return
    options = {"record_shapes": True, "profile_memory": not all_threads}
    kineto = torch.profiler.kineto_available()
    one_thread = not kineto
    if all_threads and kineto:
        from torch._C._profiler import _ExperimentalConfig

        try:
            options["experimental_config"] = _ExperimentalConfig(profile_all_threads=True)
        except TypeError:  # older than 2.6
            one_thread = True
    if not kineto:
        # It would merge an operator with an only child of the same name.
        torch.autograd.profiler_util.EventList._remove_dup_nodes = lambda self: None
    profiler = profile(activities=[ProfilerActivity.CPU], **options)
    with profiler:
        if kineto and one_thread:
            profiler.add_metadata_json("one_thread", "1")
        with record_function(BEGIN):
            pass
        try:
            yield
        finally:
            with record_function(END):
                pass
    path = os.path.join(folder, f"{os.getpid()}.json")
    if kineto:
        profiler.export_chrome_trace(path)
    else:
        with open(path, "w") as out:
            json.dump(legacy(profiler), out)


def legacy(profiler):
    """The events of a profiler without Kineto, in their order of begin."""
    events = []
    for event in sorted(profiler.events(), key=lambda event: event.id):
        if event.name in ("[memory]", "[OutOfMemory]"):
            continue
        args = {"Input Dims": event.input_shapes or []}
        if event.sequence_nr >= 0:
            args["Sequence number"] = event.sequence_nr
            args["Fwd thread id"] = event.fwd_thread
        span = event.time_range
        events.append({
            "ph": "X", "cat": "user_annotation" if event.scope == 7 else "cpu_op",
            "name": event.name, "pid": os.getpid(), "tid": event.thread,
            "ts": span.start, "dur": span.end - span.start, "args": args,
        })
    return {"legacy": 1, "traceEvents": events}
