#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Broken traces: each command shows what could be read, and says first what could not."""
import gzip
import json
import os
import sys

import prof

EARLY = "INCOMPLETE: the file ends early at byte {:,} (truncated, or still being written): what follows is of the events before it"


def verb(*words, status=0):
    run = prof.plain([prof.LAUNCHER, *words])
    assert run.returncode == status, (words, run.returncode, run.stderr, run.stdout[:500])
    return run


def text(steps=12):
    events, at = [], 1000.0
    for number in range(steps):
        length = 100.0 + number * 7 % 10
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 1, "tid": 1, "ts": at, "dur": length},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": at + 1, "dur": length / 2},
            {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": at + 3,
             "args": {"Device Type": 0, "Device Id": -1, "Addr": 64 * number, "Bytes": 64, "Total Allocated": 64 * number}}]
        at += length
    return '{"schemaVersion": 1, "traceEvents": [\n%s\n], "traceName": "x"}\n' % ",\n".join(map(json.dumps, events))


def written(folder, name, content):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_file_that_ends_early():
    whole = text()
    with prof.folder() as folder:
        cut = len(whole) // 2
        path = written(folder, "cut.json", whole[:cut])
        early = EARLY.format(cut)
        assert " ".join(verb("report", path).stdout.split()).startswith(early)
        for view in ("ops", "steps", "threads"):
            assert " ".join(verb("report", "--view", view, path).stdout.split()).startswith(early), view
        assert early in " ".join(verb("report", "--view", "trace", path).stdout.split())
        shown = json.loads(verb("report", "--format", "json", path).stdout)["recording"]
        assert (shown["broken_at"], shown["broken_why"], shown["complete"]) == (cut, "the file ends early", False), shown
        assert early in shown["doubts"], shown
        assert early in verb("report", "--format", "md", path).stdout.replace("\n", " ").replace("> ", "")
        assert verb("memory", path).stdout.startswith(early)
        assert json.loads(verb("memory", "--json", path).stdout)["broken_at"] == cut
        leaks = verb("memory", "--leaks", path, status=2).stdout
        assert "cannot say whether cpu leaks: part of the file could not be read" in leaks, leaks
        assert early in verb("export", "--folded", path).stderr


def test_a_broken_side_of_a_comparison():
    whole = text()
    with prof.folder() as folder:
        good, bad = written(folder, "good.json", whole), written(folder, "bad.json", whole[:-400])
        assert "part of a file of B could not be read" in " ".join(verb("diff", good, bad).stdout.split())
        for sides in ((good, bad), (bad, good)):
            run = verb("gate", "--baseline", *sides, status=2)
            assert run.stdout.startswith("cannot tell: part of a file could not be read"), run.stdout
        assert verb("gate", "--baseline", good, good).stdout.startswith("fine")


def test_gzip_that_ends_or_is_damaged():
    whole = text(2000).encode()
    packed = gzip.compress(whole)
    with prof.folder() as folder:
        cut = written(folder, "cut.json.gz", packed[:len(packed) // 2])
        hurt = written(folder, "hurt.json.gz", packed[:-8] + b"\0\0\0\0" + packed[-4:])  # another checksum
        for path, why in ((cut, "the gzip data end early"), (hurt, "the gzip data are damaged")):
            shown = json.loads(verb("report", "--format", "json", path).stdout)
            assert shown["recording"]["broken_why"] == why, shown["recording"]
            assert 100 < len(shown["steps"]) <= 2000, len(shown["steps"])
        nothing = written(folder, "nothing.json.gz", packed[:30])
        assert "nothing.json.gz: the gzip data end early at byte" in verb("report", nothing, status=2).stderr


def test_names_that_are_no_json():
    broken = text().replace("aten::mm", 'f(\\"a\\")').replace('\\"', '"', 8)
    with prof.folder() as folder:
        path = written(folder, "quotes.json", broken)
        run = verb("report", "--view", "ops", path)
        assert "4 events are no JSON as written" in " ".join(run.stdout.split()), run.stdout
        assert 'f("a")' in run.stdout, run.stdout
        shown = json.loads(verb("report", "--format", "json", path).stdout)
        assert [(o["key"], o["count"]) for o in shown["operators"] if o["key"].startswith("f(")] == [('f("a")', 12)], shown["operators"]
        assert (shown["recording"]["repaired"], shown["recording"]["complete"]) == (4, True)


def test_no_event_at_all():
    with prof.folder() as folder:
        for content, where in (("", "byte 0"), ('{"traceEvents": [', "byte 17"), ('{"traceEvents": [{"ph": "X"', "byte 27")):
            error = verb("report", written(folder, "x.json", content), status=2).stderr
            assert "x.json" in error and f"at {where}" in error, error


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
