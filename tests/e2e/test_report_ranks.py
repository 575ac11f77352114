#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 400
"""`proflaunch ranks`, and the views of ranks: numbers as TensorBoard's plugin has them, and who holds up whom."""
import json
import os
import shutil
import subprocess
import sys

import prof
import test_report_views as views

VENV = os.path.join(prof.BUILD, "venv", "bin", "python")
PROGRAM = os.path.join(prof.HERE, "progs", "gloo_ranks.py")


# ---- the plugin's numbers ------------------------------------------------------------

def same_ranks(paths, folder):
    """Compares steps, waits and collectives of all ranks; returns how many numbers there were."""
    theirs = views.plugin("ranks", *paths)
    steps = {(row["rank"], row["step"]): row for row in views.rows_of(folder, "--view", "distributed")}
    sums = {(row["rank"], row["collective"]): row for row in views.rows_of(folder, "--view", "collectives")}
    assert len(sums) == sum(len(rank["collectives"]) for rank in theirs), (sums, theirs)
    assert len(steps) == sum(len(rank["steps"]) for rank in theirs), (steps, theirs)
    numbers = 0
    for rank, data in enumerate(theirs):
        for step, (computation, both, communication, other) in data["steps"].items():
            row = steps[str(rank), step]
            want = {"computation": computation - both, "overlap": both, "communication": communication - both, "other": other}
            if step in data["waits"]:
                whole, there = data["waits"][step]
                want.update(transfer=there, waiting=whole - there)
            for key, value in want.items():
                views.near(f"{folder}: rank {rank}, step {step}, {key}", value, float(row[key]))
                numbers += 1
        for name, (calls, size, time, there) in data["collectives"].items():
            row = sums[str(rank), name]
            for key, value in ("count", calls), ("bytes", size), ("time", time), ("transfer", there):
                views.near(f"{folder}: rank {rank}, {name}, {key}", value, float(row[key]))
                numbers += 1
    return numbers


class Rank(views.Invented):
    """A rank of an invented job. All ranks draw the same collectives from `seed`, and lengths of their own."""

    def __init__(self, seed, rank, gpu):
        super().__init__((seed << 8) + rank, rank)
        self.same, self.gpu = views.random.Random(seed), gpu
        for step in range(self.same.randint(1, 3)):
            self.step(step, 1000 * step)

    def step(self, number, at):
        self.add("user_annotation", f"ProfilerStep#{number}", 1, at, 1000)
        for _ in range(self.chance.randint(1, 6)):
            self.work("gemm", at + self.eighths(0, 500), self.eighths(1, 200), "aten::mm")
        end = at
        for _ in range(self.same.randint(1, 6)):
            name = self.same.choice(("all_reduce", "all_gather", "broadcast", "reduce", "reduce_scatter"))
            begin = end + self.eighths(0, 30)
            end = begin + self.eighths(1, 100)
            self.work("ncclDevKernel_X(y)", begin, end - begin, ("nccl:" if self.gpu else "gloo:") + name,
                      **{"Input Dims": [[self.same.randint(1, 500), 3]], "Input type": ["float"]})

    def work(self, kernel, begin, length, name, **args):
        self.number += 1
        collective = name.startswith(("nccl", "gloo"))
        host = {"External id": self.number, **args}
        # A collective of the host has a row of its own, as gloo's threads have; that of a kernel takes no time, as the
        # plugin would add it to the kernel's.
        self.add("user_annotation" if collective else "cpu_op", name, 100 + self.number if collective else 1, begin,
                 0 if self.gpu else length, **host)
        if self.gpu:
            number = {"External id": self.number, "correlation": self.number}
            self.add("cuda_runtime", "cudaLaunchKernel", 1, begin, 0, **number)
            self.add("kernel", kernel, 7, begin, length, pid=0, device=0, stream=7, **number)


def test_ranks_by_chance_are_the_plugins():
    numbers = 0
    for seed in range(6):
        with prof.folder() as folder:
            paths = [Rank(seed, rank, seed % 2 == 0).save(f"{folder}/rank{rank}.pt.trace.json") for rank in range(2 + seed % 3)]
            numbers += same_ranks(paths, folder)
    assert numbers > 250, numbers


@prof.full
def test_breakdowns_are_htas():
    """Of one step, which HTA does not cut, and in whole microseconds, which it does not round."""
    seed = next(seed for seed in range(1, 99) if views.random.Random(seed).randint(1, 3) == 1)
    with prof.folder() as folder:
        for rank in range(2):
            made = Rank(seed, rank, True)
            for event in made.events:
                event["ts"], event["dur"] = int(event["ts"]), int(event["dur"])
            made.save(f"{folder}/rank{rank}.pt.trace.json")
        run = prof.plain([VENV, os.path.join(prof.HERE, "progs", "hta_breakdowns.py"), folder])
        assert run.returncode == 0, run.stderr[-2000:]
        for rank, theirs in json.loads(run.stdout).items():
            ours = json.loads(views.ask("report", "--format", "json", f"{folder}/rank{rank}.pt.trace.json").stdout)
            step = ours["distributed"][0]
            views.near("busy", theirs["busy"], ours["devices"][0]["busy"])
            views.near("compute", theirs["compute"], step["computation"] + step["overlap"])
            assert abs(theirs["overlap"] - 100 * step["overlap"] / (step["overlap"] + step["communication"])) <= 0.005, (theirs, step)
            assert theirs["kernels"] == {row["name"]: [row["total"], row["max"], row["min"]] for row in ours["kernels"]}, (theirs, ours)


# ---- real ranks ----------------------------------------------------------------------

def run_ranks(folder, slow, torch):
    """Starts two ranks as srun does; with `torch` they record themselves."""
    for tries in range(3):
        said, ends = try_ranks(os.path.join(folder, f"meeting{tries}"), folder, slow, torch)
        # Gloo's threads are now and then still there when a bare program ends, too.
        if ends == [0, 0] or "terminate called without an active exception" not in "".join(said):
            break
        for left in os.listdir(folder):
            if left.endswith(".json"):
                os.remove(os.path.join(folder, left))
    assert ends == [0, 0], said


def try_ranks(meeting, folder, slow, torch):
    last = [folder] if torch else []
    started = []
    for rank in "01":
        words = [VENV, PROGRAM, meeting, rank, "2", str(slow), *last]
        if not torch:
            words = [prof.LAUNCHER, "--logdir", folder, "--record-shapes", "--marker", "torch:Optimizer.step*", "--schedule",
                     "wait=1,warmup=1,active=4,repeat=1", "--", *words]
        env = {**os.environ, "SLURM_STEP_ID": "0", "SLURM_PROCID": rank, "SLURM_LOCALID": rank, "SLURM_NTASKS": "2"}
        started.append(subprocess.Popen(words, env=env, text=True, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL))
    said = [one.communicate(timeout=200)[1] for one in started]
    return said, [one.returncode for one in started]


def test_ranks_that_torch_recorded():
    with prof.folder() as folder:
        run_ranks(folder, 1, True)
        assert same_ranks([f"{folder}/rank{rank}.pt.trace.json" for rank in (0, 1)], folder) == 2 * (4 * 6 + 2 * 4)
        answer = json.loads(views.ask("ranks", "--format", "json", folder).stdout)
        assert answer["schema"] == 1 and [row["rank"] for row in answer["ranks"]] == [0, 1], answer
        # Beside a load any rank may be late at times: who is named is told by the invented ones below.
        first, second = answer["ranks"]
        assert second["compute"] > first["compute"], answer
        assert len(answer["steps"]) == 8 and len(answer["collectives"]) == 4, answer


def test_ranks_that_we_recorded():
    with prof.folder() as folder:
        run_ranks(folder, 0, False)
        run = views.ask("ranks", folder)
        assert "2 files, one for each rank" in run.stderr, (run.stdout, run.stderr)
        first, second = json.loads(views.ask("ranks", "--format", "json", folder).stdout)["ranks"]
        assert first["compute"] > second["compute"] and not second["straggler"], (first, second)
        rows = views.rows_of(folder, "--view", "collectives")
        assert {(row["rank"], row["collective"], row["count"]) for row in rows} >= {("0", "gloo:all_reduce", "8"),
                                                                                    ("1", "gloo:all_reduce", "8")}, rows
        sums = next(row for row in rows if row["collective"] == "gloo:all_reduce")
        assert float(sums["bytes"]) == 4 * 4 * (160 * 160 + 1000), rows


# ---- invented ones: verdicts ---------------------------------------------------------

def put_rank(folder, rank, computes, ahead=0, steps=4, name="aten::mm", pause=0):
    """Each step computes, after a pause, then waits for all until 900 us."""
    made = views.Invented(rank, rank)
    for step in range(steps):
        at = 1000 * step + ahead
        made.add("user_annotation", f"ProfilerStep#{step}", 1, at, 1000)
        made.add("cpu_op", name, 1, at + pause, computes)
        made.add("user_annotation", "gloo:all_reduce", 2, at + pause + computes, 900 - pause - computes, **{"External id": step + 1})
    return made.save(f"{folder}/rank{rank}.pt.trace.json")


def test_who_is_named():
    with prof.folder() as folder:
        for rank in range(4):
            put_rank(folder, rank, 600 if rank == 2 else 300)
        text = views.ask("ranks", folder).stdout
        assert text.startswith("Rank 2 holds up the others: it computes 2.00 times as long as the median rank"), text
        assert "the others wait for it 300 us a step" in " ".join(text.split()), text
        for rank in range(4):
            put_rank(folder, rank, 400 if rank == 2 else 300, pause=0 if rank == 2 else 100)
        text = " ".join(views.ask("ranks", folder).stdout.split())
        assert text.startswith("Rank 2 computes 1.33 times as long as the median rank, and is slower in 4 of 4 steps; "
                               "but the others wait for it 0 a step."), text
        for rank in range(4):
            put_rank(folder, rank, 300)
        assert views.ask("ranks", folder).stdout.startswith("No rank stands out"), folder
        rows = list(views.csv.DictReader(views.io.StringIO(views.ask("ranks", "--format", "csv", folder).stdout)))
        assert [row["rank"] for row in rows] == list("0123") and {row["straggler"] for row in rows} == {"false"}, rows


def test_clocks_are_aligned():
    with prof.folder() as folder:
        for rank in range(3):
            put_rank(folder, rank, 700 if rank == 1 else 300, ahead=70_000 if rank == 1 else 0)
        run = views.ask("ranks", folder)
        words = " ".join(run.stdout.split())
        assert "rank 1: its clock is 70.0 ms ahead of the first rank's, by the ends of 4 collectives: taken off" in words, run.stdout
        assert "the others wait for it 400 us a step" in words, run.stdout


def test_what_cannot_be_compared_is_said():
    with prof.folder() as folder:
        one = put_rank(folder, 0, 300)
        assert "There is one rank" in views.ask("ranks", one).stdout
        put_rank(folder, 1, 300, steps=3)
        words = " ".join(views.ask("ranks", folder).stdout.split())
        assert "1 of 7 collectives are not in all ranks of their group" in words and "rank 0: 3 of its 4 steps" in words, words
        again = f"{folder}/again.json"
        shutil.copy(one, again)
        link = f"{folder}/link.json"
        os.symlink(one, link)
        for bad, said in (((), "no run"), (("/none",), "/none"), (("--window", "0", one, one), "below one directory"),
                          (("--format", "xml", one), "none of table"), (("-o", one, one), "one of the traces"),
                          ((one, one), "one file is there twice"), ((one, link), "one file is there twice"), ((link, one), "one file is there twice"), ((one, again), "are both of rank 0")):
            answer = views.ask("ranks", *bad, status=2)
            assert said in answer.stderr and not answer.stdout, (bad, answer.stderr)
        os.unlink(again)
        os.unlink(link)
        with open(put_rank(folder, 1, 300), "r+b") as file:
            file.truncate(os.path.getsize(file.name) - 200)
        words = " ".join(views.ask("ranks", one, f"{folder}/rank1.pt.trace.json").stdout.split())
        assert "rank 1: INCOMPLETE: the file ends early at byte" in words, words
        broken = f"{folder}/rank2.pt.trace.json"
        with open(broken, "w", encoding="utf-8") as file:
            file.write("no trace")
        assert broken in views.ask("ranks", one, broken, status=2).stderr


def test_hostile_ranks_do_no_harm():
    with prof.folder() as folder:
        for rank in range(2):
            made = views.Invented(rank, rank)
            made.add("user_annotation", "ProfilerStep#9223372036854775807", 1, 0, 9e15)
            made.add("cpu_op", "</script>\x1b[2J\u202e", 1, 9.2e15 * rank, 9e15)
            for i in range(3):
                made.add("user_annotation", "gloo:all_reduce", 2, 9.2e15 * (i - 1) * rank, 9e15 / (i + 1),
                         **{"External id": i, "Input Dims": [[2**62, 2**62]], "Input type": ["double"]})
            made.save(f"{folder}/rank{rank}.pt.trace.json")
        for form in "table", "csv", "json", "md":
            for words in ("ranks",), ("report", "--view", "distributed"), ("report", "--view", "collectives"):
                text = views.ask(*words, "--format", form, folder).stdout
                assert "\x1b" not in text
                if form == "json":
                    json.loads(text)


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
