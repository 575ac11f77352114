#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""`proflaunch bottleneck`: the tables of a run are those of other views, and the program is as it was."""
import io
import json
import os
import platform
import pstats
import re
import signal
import subprocess
import sys
import time

import cuda
import prof

VENV = os.path.join(prof.BUILD, "venv", "bin", "python")
HEADS = ["Environment", "Functions of Python, by the time of their own", "Operators, by CPU time total",
         "Operators, by CUDA time total", "Warnings"]
HAS_GPU = any(map(os.path.exists, ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg")))

TORCH = """
import sys, torch
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step(n):
    optimizer.zero_grad()
    model(torch.randn(n, 64)).square().mean().backward()
    optimizer.step()
for n in range(2, 8):
    step(n)
print("the program's own")
print("its errors", file=sys.stderr)
"""

PURE = """
import sys
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def outer():
    return [fib(9) for _ in range(20)]
outer()
print("the program's own")
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
"""


class Shown:
    """What a run has said, in sections by their heads."""

    def __init__(self, log, *words, command=(VENV, "-c", TORCH), **given):
        self.log = log
        process = subprocess.run([prof.LAUNCHER, "bottleneck", "--logdir", log, *words, "--", *command], text=True, check=False,
                                 capture_output=True, timeout=300, stdin=subprocess.DEVNULL, **given)
        self.status, self.out, self.err = process.returncode, process.stdout, process.stderr
        self.take()

    def take(self):
        self.section, name = {}, None
        for line in self.err.splitlines():
            if line in HEADS:
                name = line
                self.section[name] = []
            elif name and not line.startswith("proflaunch: "):
                self.section[name].append(line)

    def text(self, head):
        return "\n".join(self.section.get(head, ())).strip("\n")

    def words(self, head):
        return " ".join(self.text(head).split())

    def facts(self):
        """"Python" -> "3.11.7"; a fact may have several lines."""
        found, last = {}, None
        for line in self.section["Environment"]:
            if line[2:12].strip():
                last = line[2:12].strip()
            if line.strip():
                found[last] = (found.get(last, "") + " " + line[12:].strip()).strip()
        return found

    def path(self):
        """The trace that is shown: its fact may be cut into lines, the last line of all is not."""
        return re.search(r"(?m)^proflaunch: more of it: proflaunch report (\S+);", self.err)[1]

    def rows(self, head):
        """The lines of torch's table, between its rules."""
        parts = re.split(r"(?m)^-+(?:  -+)*  *\n", self.text(head) + "\n")
        return parts[2].splitlines()


def made(*words):
    got = prof.plain([prof.LAUNCHER, *words])
    assert got.returncode == 0, (words, got.stderr)
    return got.stdout


def of_pstats(path, log, rows):
    """What Python's own pstats prints of the file."""
    file, out = os.path.join(log, "x.prof"), io.StringIO()
    made("export", "--pstats", "-o", file, path)
    pstats.Stats(file, stream=out).sort_stats("tottime").print_stats(rows)
    text = out.getvalue()
    return text[text.index("  function calls") if "  function calls" in text else text.index("\n") + 1:].strip("\n")


def of_torch(path, sort):
    """(name, numbers without shares) of operators, in the order of --like-torch, which has functions of Python, too."""
    table = made("report", "--view", "ops", "--like-torch", "--sort", sort, "--limit", "1000000", path)
    rows = [row_of(line) for line in re.split(r"(?m)^-+(?:  -+)*  *\n", table)[2].splitlines()]
    python = {cut(e["name"]) for e in prof.Trace(path).slices if e["cat"] == "python_function"}
    return [row for row in rows if row[0] not in python]


def cut(name):
    return name if len(name) < 52 else name[:52] + "..."


def row_of(line):
    cells = re.split(r"  +", line.strip())
    return cells[0], [cell for cell in cells[1:] if not cell.endswith("%")]


def check_functions(shown, rows=15):
    text = shown.text("Functions of Python, by the time of their own")
    want = of_pstats(shown.path(), shown.log, rows)
    assert [line.rstrip() for line in text.splitlines()] == [line.rstrip() for line in want.splitlines()], text + "\n--- pstats ---\n" + want
    return text


def test_a_program_with_torch():
    with prof.folder() as log:
        shown = Shown(log)
        assert shown.status == 0 and shown.out == "the program's own\n" and "its errors\n" in shown.err, shown.err
        assert list(shown.section) == HEADS, shown.err
        text = check_functions(shown)
        rows = [row_of(line) for line in shown.rows("Operators, by CPU time total")]
        want = of_torch(shown.path(), "cpu_time_total")[:15]
        assert rows == want, (rows, want)
        assert len(rows) == 15 and any(name == "aten::addmm" for name, _ in rows), rows
        assert HAS_GPU or "none: no work of a GPU is in the trace" in shown.text("Operators, by CUDA time total")
        # Times of JSON are in microseconds.
        document = json.loads(made("report", "--format", "json", shown.path()))
        known = {row["key"]: row for row in document["operators"]}
        for name, cells in rows:
            if name in known:       # a long name is cut
                assert int(cells[-1]) == known[name]["count"], name
                unit = {"us": 1, "ms": 1e3}.get(cells[1][-2:], 1e6)
                assert abs(float(cells[1].rstrip("ums")) * unit - known[name]["cpu_time_total"]) <= 0.0006 * unit, (name, cells, known[name])
        known = {f"{row['line']}({row['function']})" if row["line"] else row["function"]: row for row in document["python"]}
        rows = re.findall(r"(?m)^ *(\d+)(?:/\d+)? +([\d.]+) +[\d.]+ +([\d.]+) +[\d.]+ (\S.*)$", text)
        assert len(rows) == 15 and any("(" in row[3] for row in rows) and any(row[3] == "marshal.loads" for row in rows), text
        for calls, own, total, name in rows:
            row = known[name]
            assert row["count"] == int(calls), (name, row)
            assert abs(row["self_time"] / 1e6 - float(own)) < 0.0006 and abs(row["total_time"] / 1e6 - float(total)) < 0.0006, (name, row)


def test_where_it_ran():
    with prof.folder() as log:
        shown = Shown(log, command=(VENV, "-c", "import torch; torch.ones(3) + 1"))
        facts = shown.facts()
        said = json.loads(prof.plain([VENV, "-c", "import json, platform, torch; print(json.dumps([platform.python_version(),"
                                                  " torch.__version__, torch.get_num_threads()]))"]).stdout)
        assert facts["Python"] == said[0] and facts["PyTorch"] == said[1], facts
        assert facts["command"] == f"{VENV} -c 'import torch; torch.ones(3) + 1'", facts
        assert f"{said[2]} thread" in facts["CPU"], facts
        assert platform.release() in facts["system"] and platform.machine() in facts["system"], facts
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = re.search(r"(?m)^model name\s*: *(.*\S)", file.read())
        assert not model or " ".join(model[1].split()) in " ".join(facts["CPU"].split()), facts
        assert "from the first event to the last" in facts["trace"], facts


def test_a_program_without_torch():
    with prof.folder() as log:
        shown = Shown(log, "--limit", "100000", command=(sys.executable, "-c", PURE))
        assert shown.status == 0 and shown.out == "the program's own\n", shown.err
        text = check_functions(shown, 100000)
        calls = re.search(r"(?m)^ *(\d+)/20 .*<string>:3\(fib\)$", text)
        assert calls and int(calls[1]) == 20 * 109, text        # fib(9) is 109 calls
        assert "none: this process did not load PyTorch" in shown.text(HEADS[2]), shown.err
        assert HEADS[3] not in shown.section and "PyTorch" not in shown.facts(), shown.err


def test_it_ends_as_the_program_does():
    with prof.folder() as log:
        shown = Shown(log, command=(sys.executable, "-c", PURE, "7"))
        assert shown.status == 7 and shown.out == "the program's own\n", shown.err
        check_functions(shown)
        shown = Shown(log, command=(sys.executable, "-c", PURE.replace("print(", "raise ValueError(")))
        assert shown.status == 1 and "ValueError: the program's own" in shown.err, shown.err
        check_functions(shown)
        shown = Shown(log, "--quiet", command=(sys.executable, "-c", PURE, "7"))
        assert shown.status == 7 and list(shown.section) == HEADS[:3] + HEADS[4:] and "proflaunch: " not in shown.err, shown.err


def test_interrupted_at_the_terminal():
    code = "import time\ndef waits():\n    time.sleep(100)\nprint('ready', flush=True)\nwaits()\n"
    with prof.folder() as log:
        child = subprocess.Popen([prof.LAUNCHER, "bottleneck", "-o", log, "--", sys.executable, "-c", code], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True)
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        os.killpg(child.pid, signal.SIGINT)     # as ^C does: the launcher, too
        _, said = child.communicate(timeout=60)
        assert child.returncode == -signal.SIGINT, (child.returncode, said)
        assert "KeyboardInterrupt" in said and re.search(r"(?m) time\.sleep$", said), said


def test_no_python_at_all():
    with prof.folder() as log:
        shown = Shown(log, command=("sh", "-c", "echo here; exit 5"))
        assert shown.status == 5 and shown.out == "here\n" and not shown.section, shown.err
        assert "no tables: bottleneck shows what Python (CPython 3.8 to 3.14) and PyTorch do" in shown.err and "--malloc all" in shown.err, shown.err


def test_rows_and_other_options():
    with prof.folder() as log:
        shown = Shown(log, "--limit", "3", "--activities", "cpu")
        check_functions(shown, 3)
        assert len(shown.rows(HEADS[2])) == 3, shown.err
        assert shown.text(HEADS[3]).startswith("none: the GPU was not recorded"), shown.err
    with prof.folder() as log:
        for words, why in ((["--limit=0"], "--limit: not a number from 1 on"), (["--limit", "x"], "--limit: not a number from 1 on"),
                           (["--with-stack=ops"], "--python-stack: bottleneck has a table of functions"),
                           (["--with-stack", "--no-report"], "--python-stack: bottleneck has"), (["--report"], "--report: bottleneck shows"),
                           (["--activities", "cuda"], "--activities: bottleneck has"), (["--limt", "3"], "did you mean --limit?")):
            shown = Shown(log, *words, command=("touch", os.path.join(log, "started")))
            assert shown.status == 2 and why in shown.err, (words, shown.err)
        assert not os.path.exists(os.path.join(log, "started"))
        shown = Shown(log, command=())
        assert shown.status == 2 and "proflaunch bottleneck [options] command" in shown.err, shown.err


def test_steps_count_where_the_command_line_says_so():
    plan = "wait=1,warmup=1,active=2,repeat=1"
    with prof.folder() as log:
        shown = Shown(log, "--schedule", plan)
        assert "ProfilerStep*" in shown.text(HEADS[2]) and "2 steps of " in shown.facts()["trace"], shown.err
        check_functions(shown)
    # Files and the environment mean runs of another kind.
    with prof.folder() as log:
        conf = os.path.join(log, "x.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write(f"schedule = {plan}\nmarker = torch:nothing\nrecord_shapes = off\nreport = on\n")
        shown = Shown(os.path.join(log, "x"), "--config", conf, env={**os.environ, "PROF_PYTHON_STACK": "ops", "PROF_ACTIVITIES": "cuda"})
        assert shown.status == 0 and list(shown.section) == HEADS and "ProfilerStep" not in shown.text(HEADS[2]), shown.err
        asked = prof.Trace(shown.path()).facts["configuration"]
        assert asked["python_stack"] == "full" and asked["record_shapes"] == "on" and asked["marker"] == "none", asked


def test_the_cost_of_calls_is_told():
    with prof.folder() as log:
        shown = Shown(log, command=(sys.executable, "-c", PURE.replace("range(20)", "range(2000)")))
        words = shown.words("Warnings")
        facts = prof.Trace(shown.path()).facts
        events, cost = facts["events"], facts["cost"]
        calls = events["functions"] + events["c_calls"]
        ns = (events["functions"] * cost["ns per function"] + events["c_calls"] * cost["ns per C call"]) / calls
        said = re.search(r"our own code took about (\d+) ns of each call of a function", words)
        assert abs(int(said[1]) - ns) <= 1, (words, ns)
        # fib does nothing but calls.
        assert re.search(r"these look slower by it: [^;]*<string>:3\(fib\)", words), words


def test_of_several_processes_one_is_shown():
    with prof.folder() as log:
        older = Shown(log)
        # A trace with operators of an earlier run tells more, and is not of this one.
        shown = Shown(log, command=("sh", "-c", f"{VENV} -c 'import json'; {VENV} -c 'import this' > /dev/null"))
        assert shown.path() != older.path() and "none: this process did not load PyTorch" in shown.text(HEADS[2]), shown.err
        assert "there are several traces, and proflaunch report shows the others, too: " in shown.words("Warnings"), shown.err
        check_functions(shown)


def test_started_processes_are_told():
    code = ("import multiprocessing as m\ndef f(): pass\n"
            "p = m.get_context('fork').Process(target=f)\np.start()\np.join()\n")
    # A process that is forked and calls operators has a trace, which is chosen as report does it: it tells more.
    with prof.folder() as log:
        shown = Shown(log, command=(VENV, "-c", code.replace("def f(): pass", "import torch\ndef f(): torch.ones(3).add(1)")))
        words = shown.words("Warnings")
        assert "aten::add" in shown.text(HEADS[2]) and "these tables are of this one alone" in words and "one of 2 traces below" in words, shown.err
        check_functions(shown)
    with prof.folder() as log:
        shown = Shown(log, command=(sys.executable, "-c", code))
        assert "the program has several processes (multiprocessing): these tables are of this one alone" in shown.words("Warnings"), shown.err
        assert "several processes" not in Shown(log, command=(sys.executable, "-c", PURE)).err


def test_of_many_ranks_one_has_tables():
    with prof.folder() as log:
        for rank in "01":
            shown = Shown(log, "--format", "json.gz", command=(sys.executable, "-c", PURE), env={**os.environ, "RANK": rank, "WORLD_SIZE": "2"})
            assert shown.status == 0 and bool(shown.section) == (rank == "0"), (rank, shown.err)


def test_work_of_a_gpu():
    with prof.folder() as log:
        version = cuda.NEWEST
        shown = Shown(log, command=(prof.prog("cuda_times"), "kernels", "10"), env={**os.environ, **cuda.environment(version)})
        assert shown.status == 0, shown.err
        facts = shown.facts()
        assert facts["CUDA"] == f"runtime {version}, driver {version}" or version in facts["CUDA"], facts
        assert "Fake" in facts["GPU"] and "compute capability" in facts["GPU"], facts
        assert "none: no Python ran in this process" in shown.text(HEADS[1]), shown.err
        rows = [row_of(line) for line in shown.rows(HEADS[3])]
        assert rows == of_torch(shown.path(), "cuda_time_total") and rows[0][0] == "alpha(float*, int)", rows
        assert "the CPU time of an operator is that of launching" in shown.words("Warnings"), shown.err


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
