#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 400
"""Processes that are ranks of one job, as srun and mpirun start them: a launcher for each."""
import os
import subprocess
import sys

import prof

PYTHON = os.path.join(prof.BUILD, "venv", "bin", "python")
TRAIN = """
import os, sys, torch, torch.distributed as dist
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=int(sys.argv[2]), world_size=2)
for _ in range(3):
    dist.all_reduce(torch.ones(3))
dist.barrier()
os._exit(0)
"""
STARTERS = {
    "srun": lambda rank: {"SLURM_STEP_ID": "0", "SLURM_PROCID": rank, "SLURM_LOCALID": rank,
                          "SLURM_NTASKS": "2"},
    "Open MPI": lambda rank: {"OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_LOCAL_RANK": rank,
                              "OMPI_COMM_WORLD_SIZE": "2"},
    "MPICH": lambda rank: {"PMI_RANK": rank, "MPI_LOCALRANKID": rank, "PMI_SIZE": "2"},
}


def start_rank(log, rank, starter):
    words = [prof.LAUNCHER, "--logdir", log, "--marker", "none", "--",
             PYTHON, "-c", TRAIN, os.path.join(log, "meeting"), rank]
    return subprocess.Popen(words, env={**os.environ, **starter(rank)}, text=True,
                            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)


def test_each_file_knows_its_rank_and_one_launcher_speaks():
    for name, starter in STARTERS.items():
        with prof.folder() as log:
            ranks = [start_rank(log, rank, starter) for rank in "01"]
            said = [rank.communicate(timeout=120)[1] for rank in ranks]
            assert [rank.returncode for rank in ranks] == [0, 0], (name, said)
            files = [prof.Trace(os.path.join(log, file)) for file in os.listdir(log)
                     if file.endswith(".json")]
            told = sorted((trace.raw["distributedInfo"] for trace in files),
                          key=lambda info: info["rank"])
            assert told == [{"backend": "gloo", "rank": rank, "world_size": 2} for rank in (0, 1)], \
                (name, told)
            assert all(f"_{trace.pid}.rank{trace.raw['distributedInfo']['rank']}." in trace.path
                       for trace in files), (name, files)
            assert "trace file" in said[0] and "proflaunch:" not in said[1], (name, said)


def test_a_later_rank_warns_and_speaks_when_told_to():
    env = STARTERS["srun"]("1")
    short = [prof.prog("edges"), "steps", "3"]
    with prof.folder() as log:
        run = prof.launch(short, log, env=env, marker="symbol:not_there")
        assert "marker symbol:not_there: there is no such function" in run.err, run.err
        run = prof.launch(short, log, env=env, marker="none", quiet="off")
        assert "1 trace file in" in run.err, run.err


def test_a_name_without_a_time_is_kept_as_it_is():
    with prof.folder() as log:
        run = prof.launch([prof.prog("edges"), "steps", "3"], log, schedule="active=1",
                          file="run/fixed")
        names = sorted(os.listdir(os.path.join(log, "run")))
        assert names[-1] == "fixed.pt.trace.json" and len(names) > 2, (names, run.err)
        assert all(prof.re.fullmatch(r"fixed\.\d{19}\.pt\.trace\.json", name)
                   for name in names[:-1]), names


prof.main(sys.modules[__name__])
