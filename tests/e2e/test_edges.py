#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 400
"""What is in the file at the edges of a window."""
import sys

import prof


def edges(mode, n, logdir, **given):
    return prof.launch([prof.prog("edges"), mode, str(n)], logdir, **given)


def test_open_at_a_seal():
    """Written in the window in which it began, cut at its end, finished: "false"."""
    with prof.folder() as log:
        run = edges("open", 1, log, schedule="active=1,repeat=2")
        first, second = run.traces()
        assert first.names() == ["from 0 to 1", "inside 0"], first.names()
        cut = first.named("from 0 to 1")[0]
        assert cut["args"]["finished"] == "false", cut
        assert "finished" not in first.named("inside 0")[0]["args"]
        assert abs(cut["ts"] + cut["dur"] - first.window()[1]) < 1, (cut, first.window())
        assert second.names() == ["inside 1", "open at exit", "inside never"], second.names()
        assert second.named("open at exit")[0]["args"]["finished"] == "false"
        assert (first.steps(), second.steps()) == ([0], [1])
        prof.strict(run.paths())


def test_begun_before_and_ended_after():
    with prof.folder() as log:
        run = edges("before", 1, log, schedule="wait=1,active=1,repeat=1")
        trace = run.only()
        assert trace.names() == ["inside 1", "ended after"], trace.names()
        assert trace.named("ended after")[0]["args"]["finished"] == "false"
        assert trace.steps() == [1]
        prof.strict(run.paths())


def test_ended_on_another_thread():
    with prof.folder() as log:
        run = edges("crossing", 1, log, schedule="active=1,repeat=1")
        trace = run.only()
        travels = trace.named("travels")
        assert len(travels) == 5
        for one in travels:
            assert one["dur"] > 5000, one
            assert "finished" not in one["args"], one
            assert one["tid"] == trace.pid, one
        assert {e["tid"] for e in trace.named("there")}.isdisjoint({trace.pid})
        assert [len(trace.named(n)) for n in ("here", "there", "after")] == [5, 5, 5]
        prof.strict(run.paths())


def test_windows_back_to_back():
    """One step each, no warm-up: none is merged, delayed or lost, none overlaps."""
    count = 200
    with prof.folder() as log:
        run = edges("steps", count, log, schedule="active=1")
        traces = run.traces()
        numbers = [trace.steps() for trace in traces]
        assert numbers[:count] == [[n] for n in range(count)], numbers[:10]
        assert all(trace.names() == ["each"] for trace in traces[:count])
        ends = [trace.window() for trace in traces]
        assert all(a[1] <= b[0] for a, b in zip(ends, ends[1:]))
        prof.strict(run.paths())


def test_steps_of_a_microsecond():
    count = 2000
    with prof.folder() as log:
        run = edges("steps", count, log, schedule="wait=3,warmup=1,active=500,repeat=2")
        traces = run.traces()
        wanted = [list(range(4, 504)), list(range(508, 1008))]
        assert [trace.steps() for trace in traces] == wanted, [t.steps()[:3] for t in traces]
        assert all(trace.names() == ["each"] * 500 for trace in traces)
        prof.strict(run.paths())


def test_last_unfinished_step():
    with prof.folder() as log:
        run = edges("partial", 3, log, schedule="active=10")
        trace = run.only()
        assert trace.steps() == [0, 1, 2], trace.steps()
        assert trace.names() == ["each"] * 3
        prof.strict(run.paths())


def test_stopped_while_emitting():
    """Every operator is in a file, or counted as lost, or was made while idle."""
    with prof.folder() as log:
        run = edges("halted", 100, log, schedule="active=1")
        seen = 0
        for trace in run.traces():
            low, high = trace.window()
            for event in trace.named("busy"):
                seen += 1
                assert low <= event["ts"] and event["ts"] + event["dur"] < high + 0.001, event
        assert seen > 1000, seen
        prof.strict(run.paths())


def test_many_threads_at_once():
    with prof.folder() as log:
        run = edges("threads", 1000, log, schedule="active=1,repeat=1")
        trace = run.only()
        inner = trace.named("in a thread")
        assert len(inner) == 10000, len(inner)
        assert len({e["tid"] for e in inner}) == 1000
        prof.strict(run.paths())


def test_many_short_threads():
    """What a dead thread leaves is used again: 50,000 threads fit under the cap."""
    with prof.folder() as log:
        run = edges("short", 50000, log, schedule="active=1,repeat=1", timeout=200)
        assert len(run.only().named("in a thread")) == 50000, run.err
        prof.strict(run.paths())


prof.main(sys.modules[__name__])
