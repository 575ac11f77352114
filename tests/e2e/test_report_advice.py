#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 1200
"""Advice for programs on the CPU: five with something planted in them, and healthy ones."""
import os
import shutil
import sys

import advice
import prof

VENV = os.path.join(prof.BUILD, "venv", "bin", "python")

HEAD = """
import time, torch
from torch.profiler import record_function
from torch.utils.data import DataLoader, Dataset
torch.manual_seed(0)
torch.set_num_threads(1)

class Slow(Dataset):
    def __init__(self, seconds):
        self.seconds = seconds
    def __len__(self):
        return 400
    def __getitem__(self, i):
        time.sleep(self.seconds)
        return torch.zeros(256), 0

def train(model, loss_of, steps=16):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for i in range(steps):
        loss = loss_of(i)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""

LOADED = """
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in DataLoader(Slow(SECONDS), batch_size=25, num_workers=WORKERS):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

SMALL = """
model = torch.nn.Linear(64, 64)
x = torch.randn(64, 64)
"""

PLANTED = {
    "loader": LOADED.replace("SECONDS", "0.002").replace("WORKERS", "0"),
    "workers": LOADED.replace("SECONDS", "0.004").replace("WORKERS", "1"),
    "tiny": SMALL + """
def loss_of(i):
    total = model(x).sum()
    for k in range(1000):
        row = x[k % 64]
        total = total + row[0] * 2
    return total
train(model, loss_of)
""",
    "item": SMALL + """
def loss_of(i):
    y = torch.randn(900, 900)
    loss = model(x).sum()
    for k in range(4):
        y = y @ y / 900
        y.sum().item()
    return loss
train(model, loss_of)
""",
    "first": SMALL + """
def loss_of(i):
    y = torch.randn(700, 700)
    for k in range(4 if i != 3 else 16):
        y = y @ y / 700
    return model(x).sum()
train(model, loss_of)
""",
    "odd": SMALL + """
def loss_of(i):
    y = torch.randn(700, 700)
    for k in range(4):
        y = y @ y / 700
    if i == 8:
        time.sleep(0.5)
    return model(x).sum()
train(model, loss_of)
""",
    "churn": SMALL + """
def loss_of(i):
    for k in range(300):
        del_me = torch.empty(48 << 20, dtype=torch.uint8)
    return model(x).sum()
train(model, loss_of)
""",
}

COMPILED = """
m = torch.nn.Linear(64, 64)
@torch.compile(dynamic=False)
def loss_of(x):
    return torch.nn.functional.silu(m(x)).sum()
train(m, lambda i: loss_of(torch.randn(80 if i == 8 else 64, 64)))
"""

HEALTHY = {
    "matmul": """
w = torch.nn.Linear(1200, 1200)
x = torch.randn(600, 1200)
train(w, lambda i: w(w(x)).pow(2).mean())
""",
    "conv": """
m = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3), torch.nn.ReLU(), torch.nn.Conv2d(32, 32, 3), torch.nn.ReLU(),
                        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, 10))
x, y = torch.randn(8, 3, 64, 64), torch.zeros(8, dtype=torch.long)
train(m, lambda i: torch.nn.functional.cross_entropy(m(x), y))
""",
    "embedding": """
e = torch.nn.EmbeddingBag(5000, 128)
m = torch.nn.Sequential(e, torch.nn.Linear(128, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024),
                        torch.nn.ReLU(), torch.nn.Linear(1024, 2))
x, y = torch.randint(0, 5000, (512, 30)), torch.zeros(512, dtype=torch.long)
train(m, lambda i: torch.nn.functional.cross_entropy(m(x), y))
""",
    "lstm": """
m = torch.nn.LSTM(128, 256, batch_first=True)
x = torch.randn(64, 30, 128)
train(m, lambda i: m(x)[0].pow(2).mean())
""",
    "inference": """
m = torch.nn.Sequential(torch.nn.Linear(1024, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 1024)).eval()
x = torch.randn(256, 1024)
with torch.no_grad():
    for i in range(16):
        x = m(x) / 10
        with record_function("request"):
            pass
""",
    "transformer": """
m = torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
x = torch.randn(8, 96, 256)
train(m, lambda i: m(x).pow(2).mean())
""",
    "workers": LOADED.replace("512", "16384").replace("SECONDS", "0").replace("WORKERS", "1"),
}


def run(text, **given):
    with prof.folder() as log:
        path = os.path.join(log, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(HEAD + text)
        done = prof.launch([VENV, path], log, schedule="wait=2,warmup=1,active=10,repeat=1", children=False,
                           python_stack="ops", profile_memory=True, **given)
        return advice.of(done.only().path)


def run_alone(text, **given):
    """On one CPU, as the programs have one thread: no rule asks for more threads."""
    return run(text, wrap=("taskset", "-c", str(min(os.sched_getaffinity(0)))), **given)


def named(found, rule):
    rows = [a for a in found["advice"] if a["rule"] == rule]
    assert rows, (rule, found)
    return rows[0]


def first(found, rule, percent):
    told = [a for a in found["advice"] if a["rule"] != "overhead"]
    assert told and told[0]["rule"] == rule and told[0]["percent"] >= percent, (rule, found)
    return told[0]


def test_a_loader_that_loads_itself():
    top = first(run(PLANTED["loader"]), "dataloader", 35)
    assert "num_workers=N" in top["act"] and "half of that is counted" in top["why"] and not top["exact"], top
    assert "pin_memory" not in top["act"] and "aten::" not in top["where"], top      # it sleeps in none


def test_workers_that_starve_the_program():
    top = first(run(PLANTED["workers"]), "dataloader", 60)
    assert "next batch is not ready" in top["why"] and "more" in top["act"], top


def test_many_small_operators():
    found = run(PLANTED["tiny"])
    # Beside a load the system stops the program between its operators: such gaps are longer.
    found["advice"] = [a for a in found["advice"] if a["rule"] != "plain-python"]
    top = first(found, "tiny-ops", 10)
    assert "operators a step" in top["seen"] and "program.py(" in top["where"], top


def test_values_that_are_read_are_no_gain_on_a_cpu():
    found = run_alone(PLANTED["item"])
    row = named(found, "sync-point")
    assert row["gain"] == 0 and "costs little here, and stops a GPU each time" in row["seen"], row
    assert "4 times a step" in row["title"] and row["where"].startswith("aten::item, program.py("), row
    assert not advice.rules(found, 10), found


def test_a_slow_first_step():
    found = run_alone(PLANTED["first"])
    assert named(found, "first-step")["gain"] == 0 and set(advice.rules(found, 10)) <= {"steps-vary"}, found


def test_an_odd_step():
    top = first(run(PLANTED["odd"]), "steps-vary", 20)
    assert "\"Other\"" in top["why"], top


def test_large_blocks_in_each_step():
    found = run(PLANTED["churn"])
    assert "program.py(" in named(found, "malloc-churn")["where"], found


@prof.full
def test_a_compilation_in_the_middle():
    if not shutil.which("g++"):
        raise prof.Skip("torch.compile needs g++")
    found = run(COMPILED)
    top = first(found, "recompile", 50)
    assert "most of it in step 8" in top["seen"] and "steps-vary" not in advice.rules(found), found


def test_one_thread_where_there_are_more_cpus():
    cpus = len(os.sched_getaffinity(0))
    found = run(HEALTHY["matmul"])
    if cpus == 1:
        assert "cpu-threads" not in advice.rules(found), found
        return
    row = named(found, "cpu-threads")
    assert f"1 of {cpus} CPUs" in row["title"] and "torch has 1 thread for an operator" in row["seen"], row


def test_threads_are_asked_by_the_program_alone():
    """A clock's steps end in a thread of ours, which would be told another number."""
    text = HEAD + HEALTHY["matmul"].replace("train(", "torch.set_num_threads(1)\nfor _ in range(2): train(")
    with prof.folder() as log:
        path = os.path.join(log, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        for marker, told in (("time:100", False), ("torch:Optimizer.step*", True)):
            done = prof.launch([VENV, path], os.path.join(log, marker), marker=marker, schedule="wait=1,warmup=1,active=2,repeat=0", children=False)
            said = [trace.facts["facts"].get("cpu") for trace in done.traces()]
            assert said and all(cpu and cpu["torch threads"] == 1 if told else not cpu for cpu in said), (marker, said)


def test_more_threads_than_cpus():
    cpus = len(os.sched_getaffinity(0))
    found = run(HEALTHY["matmul"].replace("train(", f"torch.set_num_threads({4 * cpus})\ntrain("))
    row = named(found, "cpu-threads")
    assert row["gain"] == 0 and f"each on {4 * cpus} threads of torch" in row["seen"], row


def left_in_peace(name, **given):
    """Times of a machine that others use vary whatever the program does: that is seen again, or was no fault."""
    for _ in range(4):
        found = run_alone(HEALTHY[name], **given)
        assert found["steps"] >= 8 and set(advice.rules(found, 10)) <= {"steps-vary"}, found
        if not advice.rules(found, 10):
            return
    raise AssertionError(found)


def test_a_healthy_product():
    left_in_peace("matmul")


def test_a_healthy_convolution():
    left_in_peace("conv")


def test_a_healthy_embedding():
    left_in_peace("embedding")


def test_a_healthy_lstm():
    left_in_peace("lstm")


def test_a_healthy_inference():
    left_in_peace("inference", marker="torch:request")


def test_a_healthy_transformer():
    left_in_peace("transformer")


@prof.full
def test_healthy_workers():
    left_in_peace("workers")


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
