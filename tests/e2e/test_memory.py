#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 600
"""proflaunch memory on traces of torch.profiler and of ours, against plain Python."""
import functools
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from decimal import Decimal

import memory_model
import prof

PYTHON = os.path.join(prof.BUILD, "venv", "bin", "python")
TRAIN = os.path.join(prof.HERE, "progs", "memory_train.py")
KEPT = tempfile.mkdtemp(prefix="proflaunch.memory.")


def memory(*words, status=0):
    answer = prof.plain([prof.LAUNCHER, "memory", *words])
    assert answer.returncode == status, (answer.returncode, answer.stdout, answer.stderr)
    return answer


def spaces(path, *words):
    found = json.loads(memory("--json", *words, path).stdout, parse_float=Decimal)
    return {space["space"]: space for space in found["spaces"]}


@functools.cache
def torch_trace(kind, *words):
    """A trace of torch.profiler's, and its own timeline where there is a stack."""
    base = os.path.join(KEPT, "-".join((kind, *words)))
    files = [base + ".json"] + ([base + ".raw.json.gz", base + ".size.json"]
                                if "stack" in words else [])
    answer = prof.plain([PYTHON, TRAIN, kind, *words, *files])
    assert answer.returncode == 0, answer.stderr
    return files


def check_tables(path):
    model, cpu = memory_model.Model(path), spaces(path)["cpu"]
    bytes_, ts = model.peak()
    assert (cpu["peak"], cpu["peak_step"]) == (bytes_, model.step_of(ts)), cpu
    assert cpu["peak_us"] * 1000 == ts
    at_peak = model.live_at(ts)
    assert cpu["peak_in_window"] == sum(b[2] for b in at_peak)
    rows = {row["name"]: row for row in cpu["by_operator"]}
    peak = {name: row["peak"] for name, row in rows.items() if row["peak"]}
    assert peak == model.by_label(at_peak), (peak, model.by_label(at_peak))
    assert {name: row["bytes"] for name, row in rows.items()} == model.by_label(model.blocks)
    assert cpu["allocs"] == len(model.blocks)
    assert cpu["frees"] == sum(b[1] is not None for b in model.blocks)
    assert cpu["older_frees"] == len(model.older)
    assert sum(row["temporary"] for row in rows.values()) == sum(b[4] for b in model.blocks)
    assert sum(cpu["by_category"].values()) + cpu["older"] == max(bytes_, cpu["peak_in_window"])
    check_steps(model, cpu, rows)


def check_steps(model, cpu, rows):
    assert cpu["steps"] == [number for _, _, number in model.steps]
    for i, (begin, end, number) in enumerate(model.steps):
        inside = [b for b in model.blocks if begin <= b[0] <= end]
        churn = cpu["churn"][i]
        assert churn["step"] == number
        assert (churn["allocs"], churn["bytes"]) == (len(inside), sum(b[2] for b in inside))
        live = model.live_at(end)
        assert churn["end"] == sum(b[2] for b in live)
        sums = model.by_label(live)
        for name, row in rows.items():
            if "steps" in row:
                assert row["steps"][i] == sums.get(name, 0), (name, number)


def test_tables_of_torch():
    for kind in ("linear", "conv"):
        check_tables(torch_trace(kind)[0])


def test_tables_of_ours():
    with prof.folder() as log:
        run = prof.launch([PYTHON, TRAIN, "attention"], log, profile_memory=True,
                          record_shapes=True, schedule="wait=1,warmup=1,active=6,repeat=1")
        check_tables(run.only().path)
        packed = os.path.join(log, "packed.json.gz")
        with open(run.only().path, "rb") as plain, gzip.open(packed, "wb") as file:
            shutil.copyfileobj(plain, file)
        assert spaces(packed) == spaces(run.only().path)


def test_a_list_that_keeps_tensors():
    with prof.folder() as log:
        run = prof.launch([PYTHON, TRAIN, "linear", "leak"], log, profile_memory=True,
                          schedule="wait=1,warmup=1,active=6,repeat=1")
        path = run.only().path
        answer = memory("--leaks", "--max-growth", "10000", path, status=1)
        assert "aten::mul" in answer.stdout and "7: 96.0 KiB" in answer.stdout, answer.stdout
        assert answer.stdout.count("leak in cpu: 16.0 KiB a step over 6 steps") == 1, answer.stdout
        assert "no steady growth" in memory("--leaks", path).stdout     # 16 KiB a step are less
        table = memory(path).stdout
        assert "*   16.0 KiB/step  aten::mul" in table, table
        memory("--leaks", "--steps", "5", path, status=2)
        clean = torch_trace("linear")[0]
        assert "no steady growth" in memory("--leaks", "--max-growth", "1000", clean).stdout


def test_the_native_site_of_what_a_list_keeps():
    """With the heap recorded: the tensors' operator, and the code of libtorch's it belongs to."""
    with prof.folder() as log:
        run = prof.launch([PYTHON, TRAIN, "linear", "leak"], log, profile_memory=True, malloc="all",
                          schedule="wait=1,warmup=1,active=6,repeat=1")
        path = run.only().path
        answer = memory("--leaks", "--max-growth", "10000", path, status=1).stdout
        assert answer.count("leak in") == 2 and "leak in cpu" in answer, answer
        heap = answer[answer.index("leak in the heap"):]
        site = heap[:heap.index("live at the ends")]
        assert "(libtorch_cpu.so+0x" in site and site.rstrip().endswith("< [aten::mul]"), answer
        assert "c10::" not in site.splitlines()[1].split("(")[0], answer
        assert "in the heap: 16.1 KiB a step" in heap or "in the heap: 16.0 KiB a step" in heap, answer


def test_the_line_that_keeps_tensors():
    path = torch_trace("linear", "leak", "stack")[0]
    answer = memory("--leaks", "--max-growth", "10000", path, status=1)
    assert "aten::mul" in answer.stdout and "memory_train.py(" in answer.stdout, answer.stdout


def line_of(text):
    with open(TRAIN, encoding="utf-8") as file:
        return next(n for n, line in enumerate(file, 1) if text in line)


def test_the_line_in_traces_of_ours():
    """Python's line first, then the operator; torch's own frames are left out."""
    with prof.folder() as log:
        run = prof.launch([PYTHON, TRAIN, "linear", "leak"], log, profile_memory=True, python_stack="ops",
                          schedule="wait=1,warmup=1,active=6,repeat=1")
        path = run.only().path
        answer = memory("--leaks", "--max-growth", "10000", path, status=1).stdout.splitlines()
        at = next(i for i, line in enumerate(answer) if "leak in cpu" in line)
        site = f"memory_train.py({line_of('kept.append(')}): <module>"
        assert answer[at + 1].strip() == site and answer[at + 2].strip() == "< [aten::mul]", answer
        backward = f"memory_train.py({line_of('.backward()')}): <module>"
        table = memory(path).stdout
        assert backward in table and "torch/" not in table, table


def test_traces_that_cannot_say():
    with prof.folder() as log:
        path = os.path.join(log, "none.json")
        with open(path, "w") as file:
            json.dump({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1,
                                        "tid": 1, "ts": 1, "dur": 2}]}, file)
        for words in ((), ("--leaks",), ("--timeline", os.path.join(log, "t.html"))):
            answer = memory(*words, path, status=2)
            assert "--profile-memory on" in answer.stderr and "--malloc all" in answer.stderr
        with open(path, "w") as file:
            file.write('{"traceEvents": [{"ph":"X"')
        assert "ends early" in memory(path, status=2).stderr
        assert "No such file" in memory(os.path.join(log, "not"), status=2).stderr
    memory(status=2)
    assert "Exit status" in memory("--help").stdout


def test_what_is_wrong_is_quoted():
    for words, said in ((("--leks",), "--leks: no such option (did you mean --leaks?)"),
                        (("--max_grwth=3",), "--max_grwth: no such option (did you mean --max-growth?)"),
                        (("--nonsense",), "--nonsense: no such option; proflaunch memory --help lists them"),
                        (("--top", "ten"), "--top ten: not a number from 1 to 1000"),
                        (("--step", "9-3"), "--step 9-3: neither a step nor A-B"),
                        (("--json=1",), "--json: takes no value"),
                        (("--top=",), "--top: its value is missing")):
        assert memory(*words, "x", status=2).stderr == f"proflaunch: {said}\n", said


def test_timeline_agrees_with_torch():
    """What docs/memory.md says about agreement, by program."""
    for kind, least in ("linear", .94), ("conv", .90), ("attention", .85), ("accumulate", .90):
        path, raw, sizes = torch_trace(kind, "stack")
        with prof.folder() as log:
            mine = os.path.join(log, "t.raw.json.gz")
            memory("--timeline", mine, path)
            ours, theirs = memory_model.load(mine), memory_model.load(raw)
            share, common, sums = memory_model.agreement(ours, theirs)
            print(f"  {kind}: {100 * share:.1f} %")
            assert share >= least, (kind, share, common, sums)
            # Every allocation and free of the window is a row of both.
            def moves(rows):
                return sorted(row[:3] for row in rows if row[1] in (2, 4))
            assert moves(ours) == moves(theirs)
            check_sizes(path, sizes, os.path.join(log, "t.json"))


def check_sizes(path, theirs, mine):
    """The other format: same times where memory changes, rows of nine numbers."""
    memory("--timeline", mine, path)
    ours, torch = memory_model.load(mine), memory_model.load(theirs)
    assert len(ours) == 2 and len(ours[0]) == len(ours[1])
    assert all(len(row) == 9 and row[0] == 0 for row in ours[1])
    assert set(ours[0]) <= set(torch[0]) and ours[0] == sorted(ours[0])


def test_hta_reads_the_raw_timeline():
    with prof.folder() as log:
        mine = os.path.join(log, "t.raw.json.gz")
        memory("--timeline", mine, torch_trace("linear")[0])
        code = ("import sys; from hta.memory_analysis import MemoryAnalysis as M; "
                "t, s = M(sys.argv[1])._process_raw_events(); "
                "print(len(t), max(map(sum, s)), min(map(min, s)))")
        answer = prof.plain([PYTHON, "-c", code, mine])
        assert answer.returncode == 0, answer.stderr
        n, most, least = map(int, answer.stdout.split())
        assert n > 100 and most > 500_000 and least >= 0, answer.stdout


def test_html_needs_nothing_else():
    with prof.folder() as log:
        page = os.path.join(log, "t.html")
        memory("--timeline", page, torch_trace("conv")[0])
        text = open(page, encoding="utf-8").read()
        for word in "http://", "https://", "src=", "import(", "@import":
            assert word not in text, word
        assert "goldenrod" in text and "ProfilerStep" not in text and "steps:[[2," in text
        memory("--timeline", page + ".txt", torch_trace("conv")[0], status=2)
        # Whose link has the name of the file while it grows: nothing is written there.
        precious = os.path.join(log, "precious")
        with open(precious, "w") as file:
            file.write("precious")
        before = len(os.listdir(log))
        for name in "u.html", "u.raw.json.gz":
            path = os.path.join(log, name)
            linked = 'ln -s "$1" "$2.$$.part"; exec "$0" memory --timeline "$2" "$3"'      # exec keeps the process id
            run = prof.plain(["sh", "-c", linked, prof.LAUNCHER, precious, path, torch_trace("conv")[0]])
            assert run.returncode == 2 and ".part: cannot be written: File exists" in run.stderr, run
            assert open(precious).read() == "precious" and not os.path.exists(path), name
            memory("--timeline", path, torch_trace("conv")[0])
            assert os.path.getsize(path) > 100
        assert len(os.listdir(log)) == before + 4, os.listdir(log)              # the links are another's


def test_big_files_in_bounded_memory():
    """160 MB of JSON: less than a fifth of it is held."""
    with prof.folder() as log:
        path = os.path.join(log, "big.json")
        with open(path, "w") as file:
            file.write('{"traceEvents": [\n')
            for i in range(400_000):
                ts = 10 * i
                file.write(f'{{"ph":"X","cat":"cpu_op","name":"aten::op{i % 97}","pid":1,"tid":1,'
                           f'"ts":{ts}.000,"dur":9.000,"args":{{"External id":{i},'
                           f'"Record function id":0,"Input Dims":[[64, 64], [64, 64], [], []],'
                           f'"Input type":["float", "float", "Scalar", "Scalar"],"Input Strides":'
                           f'[[64, 1], [64, 1], [], []],"Concrete Inputs":["", "", "1", "1"],'
                           f'"Ev Idx":{i}}}}},\n')
                file.write(f'{{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,'
                           f'"tid":1,"ts":{ts + 1}.000,"args":{{"Total Allocated":0,'
                           f'"Bytes":{64 if i % 2 == 0 else -64},"Addr":{i // 2 % 1000 * 64},'
                           f'"Device Type":0,"Device Id":-1}}}},\n')
            file.write('{"ph":"M","name":"process_name","pid":1}]}\n')
        size = os.path.getsize(path)
        code = ("import resource, subprocess, sys; p = subprocess.run(sys.argv[1:], "
                "stdout=subprocess.DEVNULL); "
                "print(p.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        answer = prof.plain([sys.executable, "-c", code, prof.LAUNCHER, "memory", path])
        status, kib = map(int, answer.stdout.split())
        assert status == 0 and size > 150_000_000, (status, size)
        if "address" not in prof.BUILD:
            assert kib * 1024 < size / 2, (kib, size)


def test_processes_are_told_by_their_scripts():
    """Of two pythons the table says which one it is; what may be secret is in no file."""
    with prof.folder() as log:
        script = os.path.join(log, "keeps.py")
        with open(script, "w") as file:
            file.write("kept = [bytearray(1000) for _ in range(9000)]\n")
        run = prof.launch(["sh", "-c", f"{PYTHON} {script} --token secret; {PYTHON} -m this secret;"
                           f"{PYTHON} -c 'secret = bytearray(9 << 20)'"], log, marker="none", malloc="all")
        assert run.status == 0, run.err
        table = memory(log).stdout
        assert f"python {script}"[:60] in table, table
        found = json.loads(memory("--json", log).stdout)["files"]
        assert sorted(f["script"] or "" for f in found if f["process"] == "python") == \
            ["", "-m this", script], found
        for file in found:
            with open(file["file"]) as text:
                assert "secret" not in text.read(), file


try:
    prof.main(sys.modules[__name__])
finally:
    shutil.rmtree(KEPT, ignore_errors=True)
