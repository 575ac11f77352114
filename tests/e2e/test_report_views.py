#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 400
"""Views of modules, Python, ranks and groups: as TensorBoard's plugin and torch have them."""
import csv
import io
import json
import os
import random
import sys

import prof

VENV = os.path.join(prof.BUILD, "venv", "bin", "python")
PROGS = os.path.join(prof.HERE, "progs")


def ask(*words, status=0):
    run = prof.plain([prof.LAUNCHER, *words])
    assert run.returncode == status, (words, run.returncode, run.stderr)
    return run


def rows_of(path, *words):
    return list(csv.DictReader(io.StringIO(ask("report", "--format", "csv", *words, path).stdout)))


def plugin(what, *paths):
    if not os.path.exists(VENV):
        raise prof.Skip("no plugin in the test environment")
    run = prof.plain([VENV, os.path.join(PROGS, "plugin_views.py"), what, *paths])
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout)


def near(what, theirs, ours):
    """Times are doubles there, added up and taken off."""
    assert abs(theirs - ours) <= 2e-3 + 1e-9 * abs(theirs), f"{what}: the plugin {theirs}, ours {ours}"


class Invented:
    """Events by chance. Times are eighths of a us: exact as doubles, and ns are whole."""

    def __init__(self, seed, rank=None):
        self.chance, self.events, self.number = random.Random(seed), [], 0
        self.rank = rank

    def eighths(self, low, high):
        return self.chance.randint(8 * low, 8 * high) / 8

    def add(self, cat, name, tid, ts, dur, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": args.pop("pid", 1), "tid": tid, "ts": ts, "dur": dur,
                            "args": {key.replace("_", " "): value for key, value in args.items()}})

    def save(self, path):
        trace = {"traceEvents": self.events}
        if self.rank is not None:
            trace = {"distributedInfo": {"backend": "gloo", "rank": self.rank, "world_size": 4}, **trace}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace, file, indent=0)
        return path


# ---- modules -------------------------------------------------------------------------

class Modules(Invented):
    NAMES = ("Net_0", "Linear_0", "Linear_1", "ReLU_0", "Block_0")
    OPS = ("aten::linear", "aten::addmm", "aten::relu", "DataParallel.forward")

    def __init__(self, seed):
        super().__init__(seed)
        self.python = 0
        # One step: of several the last may be left out, with all that is in it.
        self.add("user_annotation", "ProfilerStep#7", 1, 0, 3000)
        for thread in range(1, self.chance.randint(2, 4)):
            self.fill(thread, 0, 2990, 0, 0, None)

    def fill(self, tid, begin, end, depth, parent, around):
        at = begin
        while at < end and self.chance.random() < 0.85:
            at += self.eighths(0, 20)
            last = min(end, at + self.eighths(1, 400 >> depth))
            if at >= last:
                return
            self.one(tid, at, last, depth, parent, around)
            at = last

    def one(self, tid, begin, end, depth, parent, around):
        kind = self.chance.random()
        if kind < 0.5 and depth < 6:
            self.python += 1
            module = self.chance.random() < 0.7
            name = "nn.Module: " + self.chance.choice(self.NAMES) if module else "net.py(3): forward"
            args = {"Python id": self.python, "Python parent id": parent or None}
            if module:
                args["Python module id"] = self.NAMES.index(name[11:])
            self.add("python_function", name, tid, begin, end - begin, **args)
            self.fill(tid, begin, end, depth + 1, self.python, None)
            return
        self.number += 1
        # A twin of its parent is one with it where it is an only child.
        name = around if around and self.chance.random() < 0.3 else self.chance.choice(self.OPS)
        self.add("cpu_op", name, tid, begin, end - begin, **{"External id": self.number})
        if self.chance.random() < 0.4:
            self.add("cuda_runtime", "cudaLaunchKernel", tid, begin, 0, **{"External id": self.number, "correlation": self.number})
            self.add("kernel", "gemm", 7, begin + 5, self.eighths(1, 50), pid=0,
                     **{"External id": self.number, "correlation": self.number, "device": 0, "stream": 7})
        if depth < 6:
            self.fill(tid, begin, end, depth + 1, parent, name)


def same_modules(paths):
    """Compares each name's numbers; returns how many names there were."""
    names = 0
    for path, theirs in zip(paths, plugin("modules", *paths)):
        ours = {}
        for row in rows_of(path, "--view", "modules") if theirs else ():
            sums = ours.setdefault(row["module"], [0.0] * 6)
            for i, key in enumerate(("count", "operators", "cpu_time_total", "self_cpu_time_total", "device_time_total",
                                     "self_device_time_total")):
                sums[i] += float(row[key])
        assert set(ours) == set(theirs), (path, ours, theirs)
        for name, numbers in theirs.items():
            for i, (a, b) in enumerate(zip(numbers, ours[name])):
                near(f"{path}: {name}, number {i}", a, b)
        names += len(theirs)
    return names


def test_modules_by_chance_are_the_plugins():
    with prof.folder() as folder:
        assert same_modules([Modules(seed).save(f"{folder}/{seed}.json") for seed in range(60)]) > 150


def torch_run(folder):
    run = prof.plain([VENV, os.path.join(PROGS, "torch_views.py"), folder])
    assert run.returncode == 0, run.stderr[-2000:]
    return os.path.join(folder, "torch.json")


def test_a_real_programs_views():
    """One run of torch for all: starting it takes longest."""
    with prof.folder() as folder:
        path = torch_run(folder)
        assert same_modules([path]) == 5
        modules_of(path)
        python_of(path)
        stacks_of(path)
        groups_of(path)


def modules_of(path):
    rows = [(row["module"], int(row["depth"]), int(row["count"])) for row in rows_of(path, "--view", "modules")]
    assert rows[0] == ("Net_0", 0, 3) and ("Block_0", 1, 6) in rows, rows
    assert [row for row in rows if row[0] == "ReLU_0"] == [("ReLU_0", 2, 6), ("ReLU_0", 1, 3)], rows
    text = ask("report", "--view", "modules", path).stdout
    assert "\n  Net_0 " in text and "\n    Block_0 " in text and "\n      Linear_0 " in text, text
    assert json.loads(ask("report", "--format", "json", path).stdout)["modules"][0]["module"] == "Net_0"


def python_of(path):
    rows = rows_of(path, "--view", "python")
    forward = [row for row in rows if row["function"] == "forward" and "torch_views.py" in row["line"]]
    assert len(forward) == 2 and all(row["whose"] == "yours" and row["source"] == "function" for row in forward), forward
    assert any(row["whose"] == "torch" for row in rows) and any(row["whose"] == "built-in" for row in rows), rows
    # Own times are the time in which some function ran: of each thread, whole.
    with open(path, encoding="utf-8") as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("cat") in ("python_function", "user_annotation")]
    steps = [e for e in events if e["name"].startswith("ProfilerStep#")]
    begin, end = min(e["ts"] for e in steps), max(e["ts"] + e["dur"] for e in steps)
    covered = sum(min(e["ts"] + e["dur"], end) - max(e["ts"], begin) for e in events if e.get("cat") == "python_function" and
                  e["args"].get("Python parent id") is None and e["ts"] < end and e["ts"] + e["dur"] > begin)
    own = sum(float(row["self_time"]) for row in rows)
    assert abs(own - covered) < 0.02 * covered, (own, covered)
    assert "Functions of Python" in ask("report", "--view", "python", path).stdout


def stacks_of(path):
    with open(path.replace(".json", ".tables"), encoding="utf-8") as file:
        tables = json.load(file)
    for n, theirs in tables:
        ours = ask("report", "--view", "ops", "--like-torch", "--group-by", f"stack:{n}", "--limit", "100000", path).stdout
        assert "Source Location" in theirs
        for a, b in zip(theirs.splitlines(), ours.splitlines()):
            assert a == b, f"stack:{n}\ntorch {a}\nours  {b}"
        assert ours == theirs, (n, len(theirs), len(ours))


def groups_of(path):
    plain = {row["key"]: int(row["count"]) for row in rows_of(path, "--view", "ops")}
    for by in "stack:1", "module", "phase":
        found = {}
        for row in rows_of(path, "--view", "ops", "--group-by", by):
            found[row["key"]] = found.get(row["key"], 0) + int(row["count"])
        assert found == plain, by
    where = {(row["key"], row["group"]) for row in rows_of(path, "--view", "ops", "--group-by", "phase")}
    assert {("aten::linear", "forward"), ("AddmmBackward0", "backward")} <= where, where
    assert any(name.startswith("Optimizer.step") and phase == "optimizer" for name, phase in where), where
    where = {(row["key"], row["group"]) for row in rows_of(path, "--view", "ops", "--group-by", "module")}
    assert {("aten::linear", "Linear_0"), ("aten::linear", "Linear_1"), ("aten::relu", "ReLU_0")} <= where, where
    where = {row["group"] for row in rows_of(path, "--view", "ops", "--group-by", "stack:2")}
    assert any(" < " in group and "torch_views.py" in group for group in where), where


# ---- workers of a DataLoader -----------------------------------------------------------

def put_process(path, pid, parent, slices):
    """A file as ours are, of whole microseconds; slices: (category, name, begin, length)."""
    head = {"proflaunch": {"window": {"number": 1, "complete": True}, "process": {"pid": pid, "parent": parent, "name": "python", "job": "j"},
                           "events": {"operators": len(slices)}}}
    events = [{"ph": "M", "name": "thread_name", "pid": pid, "tid": pid, "args": {"name": f"thread {pid} (pt_data_worker)"}},
              *({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": pid, "ts": ts, "dur": dur, "args": {}} for cat, name, ts, dur in slices),
              *({"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": ts} for ts in (1000, 3000))]
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({**head, "traceEvents": events}))


def test_workers_are_told_with_what_the_step_waited_for():
    with prof.folder() as folder:
        path = f"{folder}/m_1.1.pt.trace.json"
        os.mkdir(f"{folder}/children")
        put_process(path, 1, 9, [("user_annotation", "ProfilerStep#1", 1000, 1000), ("user_annotation", "ProfilerStep#2", 2000, 1000),
                                 ("user_annotation", "enumerate(DataLoader)#_X.__next__", 1000, 500), ("cpu_op", "aten::mm", 1500, 100)])
        put_process(f"{folder}/children/m_2.1.pt.trace.json", 2, 1,
                    [("user_annotation", "ProfilerStep#0", 1000, 2000), ("cpu_op", "aten::stack", 900, 300), ("cpu_op", "aten::add", 950, 20),
                     ("cpu_op", "aten::mm", 1400, 200), ("cpu_op", "aten::add", 1410, 20), ("cpu_op", "aten::mm", 2900, 500)])
        put_process(f"{folder}/children/m_3.1.pt.trace.json", 3, 1, [("cpu_op", "aten::mm", 1700, 100)])
        put_process(f"{folder}/children/m_4.1.pt.trace.json", 4, 7, [("cpu_op", "aten::mm", 1700, 100)])
        two, three = rows_of(path, "--view", "workers")
        assert two == {"pid": "2", "name": "pt_data_worker", "recorded": "2000.000", "busy": "500.000", "busy_share": "0.250000",
                       "idle": "1500.000", "busy_while_waited": "300.000", "waited_share": "0.600000", "operators": "2"}, two
        assert (three["pid"], three["busy"], three["busy_while_waited"]) == ("3", "100.000", "0.000"), three
        assert len(json.loads(ask("report", "--format", "json", path).stdout)["workers"]) == 2
        assert "num_workers" in ask("report", "--view", "workers", f"{folder}/children/m_3.1.pt.trace.json", status=2).stderr


LOAD = """
import torch
from torch.utils.data import DataLoader, Dataset
class Items(Dataset):
    def __len__(self):
        return 640
    def __getitem__(self, i):
        x = torch.randn(64, 64)
        for _ in range(20):
            x = x @ x.clamp(-1, 1)
        return x
if __name__ == "__main__":
    torch.set_num_threads(1)
    net = torch.nn.Linear(64, 8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in DataLoader(Items(), batch_size=8, num_workers=2):
        net(x).sum().backward()
        optimizer.step()
"""


def test_real_workers_have_a_row_each():
    with prof.folder() as folder:
        prof.launch([VENV, "-c", LOAD], folder, schedule="wait=1,warmup=1,active=4,repeat=1")
        rows = rows_of(folder, "--view", "workers")
        assert len(rows) == 2 and {row["name"] for row in rows} == {"pt_data_worker"}, rows
        assert sum(float(row["busy"]) for row in rows) > 0, rows


# ---- what is wrong -------------------------------------------------------------------

def test_wrong_words_and_missing_evidence():
    with prof.folder() as folder:
        path = f"{folder}/a.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 5}]}, file)
        for words, said in ((("--group-by", "stack:0"), "no number from 1 to 64"), (("--group-by", "stack:x"), "no number"),
                            (("--group-by", "line"), "none of name, shape, stack:N, module, phase"),
                            (("--like-torch", "--group-by", "phase"), "torch groups by")):
            answer = ask("report", "--view", "ops", *words, path, status=2)
            assert said in answer.stderr and not answer.stdout, (words, answer.stderr)
        for view, said in (("modules", "with_stack=True"), ("python", "--with-stack"), ("collectives", "no collectives"), ("workers", "num_workers")):
            answer = ask("report", "--view", view, path, status=2)
            assert said in answer.stderr and not answer.stdout, (view, answer.stderr)
        assert rows_of(path, "--view", "distributed")[0]["rank"] == ""


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
