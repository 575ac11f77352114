#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""proflaunch export --sqlite, --events, --csv, --md: tables with the report's numbers."""
import collections
import csv
import io
import json
import os
import re
import sqlite3
import stat
import sys

import prof

GOLDEN = os.path.join(prof.HERE, "..", "golden")
GPU = os.path.join(GOLDEN, "one_of_each_gpu.kineto.json")
PAGE = os.path.join(prof.HERE, "..", "..", "docs", "export.md")


def export(*words, status=0, **given):
    run = prof.plain([prof.LAUNCHER, "export", *words], **given)
    assert run.returncode == status, (words, run.returncode, run.stderr, run.stdout[:500])
    return run


def report(path):
    run = prof.plain([prof.LAUNCHER, "report", "--format", "json", path])
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def slice_(cat, name, tid, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 0 if cat == "kernel" else 7, "tid": tid, "ts": ts,
            "dur": dur, "args": args}


def trace(log, name="t.pt.trace.json", rank=None):
    """Steps, nested operators of the same name, a Python function, calls, kernels with all they say, tensors."""
    events = [{"ph": "M", "name": "thread_name", "pid": 7, "tid": 7, "args": {"name": "main"}},
              slice_("cpu_op", "before", 7, 10, 20)]
    for step in range(3):
        at, link = 100 * step + 100, {"External id": step + 1}
        events += [slice_("user_annotation", f"ProfilerStep#{step}", 7, at, 100),
                   slice_("python_function", "f.py(3): f", 7, at + 2, 90),
                   slice_("cpu_op", "aten::mm", 7, at + 5, 80 - step, **link, **{"Input Dims": [[2, 3], [3, 4 + step]],
                                                                               "Call stack": "f.py(3): f"}),
                   slice_("cpu_op", "aten::mm", 7, at + 10, 20.125),
                   slice_("cuda_runtime", "cudaLaunchKernel", 7, at + 40, 5, correlation=step + 1),
                   slice_("kernel", "gemm", 3, at + 50, 10 + step, correlation=step + 1, device=0, stream=3,
                          grid=[1, 2, 3], block=[32, 1, 1], **{"blocks per SM": 0.5 + step, "registers per thread": 9,
                                                               "est. achieved occupancy %": 30 + step}, **link),
                   {"ph": "i", "name": "[memory]", "pid": 7, "tid": 7, "ts": at + 12, "s": "t",
                    "args": {"Addr": 64 * (step + 1), "Bytes": 100, "Total Allocated": 100 * (step + 1),
                             "Total Reserved": 0, "Device Type": 0, "Device Id": -1}}]
    members = {"schemaVersion": 1}
    if rank is not None:
        members["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    path = os.path.join(log, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**members, "traceEvents": events}, file)
    return path


def us(ns):
    return round((ns or 0) / 1000, 3)


# ---- a database ----

def database(log, *paths):
    out = os.path.join(log, "run.db")
    export("--sqlite", "-o", out, *paths)
    return sqlite3.connect(out)


def same_as_report(db, path, trace_id=0):
    said = report(path)
    want = collections.Counter((o["key"], o["count"], o["cpu_time_total"], o["self_cpu_time_total"],
                                o["device_time_total"], o["self_device_time_total"])
                               for o in said["operators"] if o["key"] not in ("[memory]", "[OutOfMemory]"))
    got = collections.Counter((row[0], row[1], *map(us, row[2:])) for row in db.execute(
        "SELECT name, count, cpu_ns, self_cpu_ns, device_ns, self_device_ns FROM op_summary WHERE trace_id = ?",
        (trace_id,)))
    assert got == want and len(got) > 2, (got - want, want - got)
    want = {(k["name"], k["count"], k["total"], k["min"], k["max"], k["blocks_per_sm"], k["occupancy"])
            for k in said["kernels"]}
    got = {(n, c, us(t), us(a), us(b), None if x is None else round(x, 6), None if o is None else round(o, 6))
           for n, c, t, a, b, x, o in db.execute(
               "SELECT name, count, total_ns, min_ns, max_ns, blocks_per_sm, occupancy FROM kernel_summary "
               "WHERE trace_id = ?", (trace_id,))}
    assert len(got) == len(want), (got, want)
    for row, other in zip(sorted(got, key=repr), sorted(want, key=repr)):
        assert row[:5] == other[:5], (row, other)
        for a, b in zip(row[5:], other[5:]):
            # A share of the report has a hundredth, and 0 where nothing is said.
            assert (a is None) == (b is None) and (a is None or abs(a - b) < 1e-5 or abs(a / 100 - b) < 1e-5), (row, other)
    steps = [(n, us(d), *map(us, shares)) for n, d, *shares in db.execute(
        "SELECT number, dur, kernel, memcpy, memset, communication, runtime, dataloader, cpu_exec, other FROM step "
        "WHERE trace_id = ? ORDER BY ts", (trace_id,))]
    assert steps == [(s["number"], s["duration"], *s["categories"].values()) for s in said["steps"]], steps


def test_a_database_has_the_reports_numbers():
    with prof.folder() as log:
        one = trace(log)
        db = database(log, one, GPU)
        same_as_report(db, one)
        same_as_report(db, GPU, 1)
        assert dict(db.execute("SELECT key, value FROM meta"))["schema"] == "1"
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert [row[0] for row in db.execute("SELECT path FROM trace ORDER BY id")] == [one, GPU]
        rows = db.execute("""SELECT p.text, s.depth, s.step, s.ts, s.dur, d.text FROM slice s
            JOIN text n ON n.id = s.name_id LEFT JOIN slice q ON q.id = s.parent_id
            LEFT JOIN text p ON p.id = q.name_id LEFT JOIN text d ON d.id = s.shape_id
            WHERE n.text = 'aten::mm' AND s.trace_id = 0 AND s.step = 1 ORDER BY s.ts""").fetchall()
        assert rows == [("f.py(3): f", 2, 1, 205000, 79000, "[[2, 3], [3, 5]]"),
                        ("aten::mm", 3, 1, 210000, 20125, None)], rows
        kernels = db.execute("""SELECT k.device, k.stream, k.grid, k.block, k.registers, o.text FROM kernel k
            JOIN slice s ON s.id = k.slice_id JOIN slice q ON q.id = k.op_id JOIN text o ON o.id = q.name_id
            WHERE s.trace_id = 0""").fetchall()
        assert kernels == [(0, 3, "[1, 2, 3]", "[32, 1, 1]", 9, "aten::mm")] * 3, kernels
        memory = db.execute("""SELECT m.device, m.bytes, m.addr, n.text, t.name FROM memory m
            JOIN slice s ON s.id = m.slice_id JOIN text n ON n.id = s.name_id
            JOIN thread t ON t.id = m.thread_id WHERE m.trace_id = 0 ORDER BY m.ts""").fetchall()
        assert memory == [("cpu", 100, 64 * i, "aten::mm", "main") for i in (1, 2, 3)], memory
        (before,) = db.execute("SELECT in_steps FROM slice s JOIN text n ON n.id = s.name_id WHERE text = 'before'").fetchone()
        assert before == 0


def queries():
    """The page's, by their titles."""
    with open(PAGE, encoding="utf-8") as file:
        return re.findall(r"^```sql\n-- (.*?)\n(.*?)^```$", file.read(), re.M | re.S)


def test_the_pages_questions():
    found = queries()
    assert len(found) == 3, found
    with prof.folder() as log:
        path = trace(log)
        db, said = database(log, path), report(path)
        answers = [db.execute(query).fetchall() for _, query in found]
        top = sorted((o for o in said["operators"]), key=lambda o: -o["self_cpu_time_total"])
        assert [(name, round(t, 3)) for name, _, t in answers[0]][:3] == \
            [(o["key"], round(o["self_cpu_time_total"] / 1000, 3)) for o in top[:3]], (answers[0], top)
        assert [(step, round(ms, 6)) for step, ms, *_ in answers[1]] == \
            [(s["number"], round(s["duration"] / 1000, 6)) for s in said["steps"]], answers[1]
        assert answers[2] == [("aten::mm", "gemm", 3, 33.0)], answers[2]
        assert sum(k["total"] for k in said["kernels"]) == 33, said["kernels"]


def test_a_database_is_whole_or_not_there():
    with prof.folder() as log:
        good, out, link = trace(log), os.path.join(log, "run.db"), os.path.join(log, "link.db")
        bad = os.path.join(log, "bad.json")
        with open(bad, "w", encoding="utf-8") as file:
            file.write("{")
        assert "name it by -o FILE" in export("--sqlite", good, status=2).stderr
        assert "no trace file, or a broken one" in export("--sqlite", "-o", out, bad, status=2).stderr
        assert not os.path.exists(out)
        export("--sqlite", "-o", out, bad, good, status=2)
        assert sqlite3.connect(out).execute("SELECT count(*) FROM trace").fetchone() == (1,)
        os.symlink(out, link)
        assert "is a link, which is not followed" in export("--sqlite", "-o", link, good, status=2).stderr
        export("--sqlite", "-o", out, good)                     # in place of the old one
        assert stat.S_IMODE(os.stat(out).st_mode) & 0o111 == 0
        assert sorted(os.listdir(log)) == ["bad.json", "link.db", "run.db", "t.pt.trace.json"], os.listdir(log)


def test_without_the_library():
    """A loader that finds another file of its name finds no library."""
    with prof.folder() as log:
        path, lib = trace(log), os.path.join(log, "lib")
        os.mkdir(lib)
        with open(os.path.join(lib, "libsqlite3.so.0"), "wb") as file:
            file.write(b"no library")
        run = export("--sqlite", "-o", os.path.join(log, "x.db"), path, status=2,
                     env={**os.environ, "LD_LIBRARY_PATH": lib})
        assert "libsqlite3.so.0 is missing: install" in run.stderr and "libsqlite3-0" in run.stderr, run.stderr
        assert sorted(os.listdir(log)) == ["lib", "t.pt.trace.json"], os.listdir(log)


# ---- events ----

def columns_of_the_page():
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    part = text[text.index("<!-- events -->"):text.index("<!-- end -->")]
    return {name for cell in re.findall(r"^\| (`.*?) \|", part, re.M) for name in re.findall(r"`(\w+)`", cell)}


def test_events_are_lines_with_the_same_keys():
    with prof.folder() as log:
        path = trace(log, rank=1)
        rows = [json.loads(line) for line in export("--events", path, GPU).stdout.splitlines()]
        assert {tuple(row) for row in rows} == {tuple(rows[0])} and len(rows) > 30, rows[0]
        assert set(rows[0]) == columns_of_the_page(), set(rows[0]) ^ columns_of_the_page()
        assert not any(isinstance(value, (list, dict)) for row in rows for value in row.values())
        mine = [row for row in rows if row["trace"] == path]
        by_id = {row["id"]: row for row in mine if row["id"] is not None}
        inner = [row for row in mine if row["name"] == "aten::mm" and row["depth"] == 3]
        assert len(inner) == 3 and all(by_id[row["parent"]]["name"] == "aten::mm" for row in inner), inner
        assert [(row["ts"], row["dur"], row["step"], row["self_ns"]) for row in inner] == \
            [(110000 + 100000 * i, 20125, i, 20125) for i in range(3)], inner
        outer = by_id[inner[0]["parent"]]
        assert outer["shapes"] == "[[2, 3], [3, 4]]" and outer["stack"] == "f.py(3): f" and outer["external_id"] == 1
        kernel = next(row for row in mine if row["cat"] == "kernel")
        assert (kernel["device"], kernel["stream"], kernel["grid"], kernel["correlation"], kernel["occupancy"]) == \
            (0, 3, "[1, 2, 3]", 1, 30), kernel
        assert by_id[kernel["op"]]["name"] == "aten::mm" and kernel["rank"] == 1, kernel
        memory = [row for row in mine if row["cat"] == "memory"]
        assert [(m["bytes"], m["addr"], by_id[m["parent"]]["name"], m["device_name"]) for m in memory] == \
            [(100, 64 * i, "aten::mm", "cpu") for i in (1, 2, 3)], memory
        want = {o["key"]: o["self_cpu_time_total"] for o in report(path)["operators"]}
        sums = collections.Counter()
        for row in mine:
            if row["event"] == "host" and row["in_steps"]:
                sums[row["name"]] += row["self_ns"]
        assert sums and all(us(ns) == want[name] for name, ns in sums.items()), (sums, want)


def test_odd_names_are_one_line():
    with prof.folder() as log:
        path = os.path.join(log, "odd.json")
        with open(path, "wb") as file:
            file.write(b'[{"ph":"X","cat":"cpu_op","name":"a\\nb\\u2028\xff\\u202e\\"","pid":1,"tid":"x","ts":1,"dur":2}]')
        run = export("--events", path)
        assert run.stdout.count("\n") == 1 and "\u202e" not in run.stdout, run.stdout
        row = json.loads(run.stdout)
        assert row["name"] == 'a\nb\u2028\ufffd\u202e"' and row["tid"] is None, row
        db = database(log, path)
        assert db.execute("SELECT text FROM text WHERE text LIKE 'a%'").fetchone() == ('a\nb\u2028\ufffd\u202e"',)
        with open(path, "w", encoding="utf-8") as file:
            file.write("[]")
        assert "there is nothing to export" in export("--events", path, status=2).stderr


# ---- views ----

def test_views_of_several_traces_are_one_table():
    with prof.folder() as log:
        paths = [trace(log, f"{i}.pt.trace.json", rank=i) for i in (0, 1)]
        for view in ("overview", "ops", "kernels", "steps", "memory", "threads", "trace"):
            alone = prof.plain([prof.LAUNCHER, "report", "--view", view, "--format", "csv", paths[1]]).stdout
            want = list(csv.reader(io.StringIO(alone)))
            got = list(csv.reader(io.StringIO(export("--csv", "--view", view, log).stdout)))
            assert got[0] == ["trace", "rank", "stage", "window", *want[0]], got[0]
            mine = [row[4:] for row in got[1:] if row[:4] == [paths[1], "1", "", ""]]
            assert mine == want[1:] and len(got) == 2 * len(want) - 1 > 1, (view, got)
        text = export("--md", "--view=steps", "--steps", "1", *paths).stdout
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert len(rows) == 4 and "Trace" in rows[0] and "Rank" in rows[0], text
        path = os.path.join(log, "none.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": [slice_("cpu_op", "a", 1, 1, 2)]}, file)
        run = export("--csv", "--view", "kernels", path, status=2)
        assert "it has no GPU work there" in run.stderr and not run.stdout, run
        run = export("--csv", "--view", "kernels", path, paths[0])
        assert "it has no GPU work there" in run.stderr and run.stdout.count("\n") == 2, run
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) - 2)
        assert "none.json: INCOMPLETE: the file ends early at byte" in export("--csv", "--view", "ops", path).stderr


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
