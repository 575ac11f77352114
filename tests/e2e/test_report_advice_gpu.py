#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""Advice for a program on a GPU: what was planted comes first, and what is healthy is left in peace."""
import sys

import advice
from advice import GEMM, HALF, V100, made
import prof


def first(found, rule, percent=5.0):
    """The largest is that rule, it is worth so much, and it says where it looked."""
    assert found["advice"], found
    top = found["advice"][0]
    assert top["rule"] == rule and top["percent"] >= percent, [(a["rule"], a["percent"]) for a in found["advice"]]
    assert top["seen"] and top["why"] and top["act"], top
    return top


def healthy(found, percent=10.0):
    assert not advice.rules(found, percent), [(a["rule"], a["percent"], a["seen"]) for a in found["advice"]]


# ---- planted ----

def test_tiny_kernels_that_wait_for_their_launch():
    def body(m):
        for _ in range(200):
            m.kernel(3, launch=9)
    found = made(body)
    top = first(found, "launch-bound", 50)
    assert "200 kernels a step, 100 % of them" in top["seen"], top
    assert "tiny-kernels" in advice.rules(found) and "gpu-idle" not in advice.rules(found), found


def test_a_starved_loader():
    def body(m):
        m.load(4000)
        for _ in range(20):
            m.kernel(300, HALF, "aten::mm")
        m.wait()
    found = made(body)
    top = first(found, "dataloader", 38)
    assert top["exact"] and "the GPU is idle meanwhile" in top["seen"] and "num_workers=N" in top["act"], top
    for workers in (True, False):
        def late(m, workers=workers):
            m.load(4000, workers)
            body(m)
        assert ("prefetch_factor" in made(late)["advice"][0]["act"]) == workers


def test_loading_that_the_gpu_hides_is_no_gain():
    def body(m):
        for _ in range(20):
            m.kernel(300, HALF, "aten::mm")
        m.load(4000)
        m.wait()
    healthy(made(body))


def test_values_read_in_a_loop():
    def body(m):
        for _ in range(20):
            m.kernel(150, HALF, "aten::mm", launch=20)
            m.wait()
            m.python(60)
    top = first(made(body), "sync-point", 25)
    assert "20 times a step" in top["title"] and top["where"].startswith("aten::item, loss.py(7): log"), top


def test_pageable_copies():
    def body(m):
        m.copy(3000, 24)
        for _ in range(20):
            m.kernel(300, HALF, "aten::mm")
        m.wait()
    top = first(made(body), "pageable-copy", 30)
    assert "24 MiB a step" in top["seen"] and top["where"] == "aten::copy_, train.py(21): main", top

    def pinned(m):
        m.copy(3000, 24, "Pinned")
        body(m)
    assert "48 MiB" not in str(made(pinned))


def test_products_in_fp32():
    def body(m):
        for _ in range(20):
            m.kernel(400, GEMM, "aten::mm")
            m.kernel(50)
        m.wait()
    found = made(body)
    top = first(found, "fp32-matmul", 40)
    assert "set_float32_matmul_precision" in top["act"] and top["where"] == "aten::mm, train.py(18): main", top
    assert not top["exact"] and "amp" not in advice.rules(found)
    assert "float16" in first(made(body, gpu=V100), "amp", 40)["act"]
    assert not made(body, gpu={**V100, "computeMajor": 6})["advice"]


def test_products_that_nothing_waits_for_are_no_gain():
    def body(m):
        for _ in range(20):
            m.kernel(40, GEMM, "aten::mm", launch=200)
    assert "fp32-matmul" not in advice.rules(made(body))


def test_an_idle_gpu():
    def body(m):
        for _ in range(20):
            m.kernel(100, HALF, "aten::mm")
        m.wait()
        m.note("my_evaluation", 6000)
    top = first(made(body), "gpu-idle", 60)
    assert "host in my_evaluation" in top["where"], top


def test_a_host_that_cannot_keep_up():
    def body(m):
        for _ in range(20):
            for _ in range(10):
                m.kernel(20, HALF, "aten::mm")
            m.python(400)
    found = made(body)
    first(found, "host-bound", 50)
    assert not {"launch-bound", "gpu-idle"} & set(advice.rules(found)), advice.rules(found)


def test_a_late_compilation():
    def body(m):
        if m.number == 5:
            m.note("_compile.compile_inner (dynamo_timed)", 80000)
        for _ in range(20):
            m.kernel(300, HALF, "aten::mm")
        m.wait()
    found = made(body, 10)
    top = first(found, "recompile", 100)
    assert "most of it in step 5 (80.0 ms)" in top["seen"], top
    assert "steps-vary" not in advice.rules(found), "it is explained"
    early = made(lambda m: body(m) if m.number else m.note("x (dynamo_timed)", 9000), 4)
    assert "recompile" not in advice.rules(early), early


def test_memory_from_the_driver_in_each_step():
    def body(m):
        for _ in range(10):
            m.kernel(300, HALF, "aten::mm")
        m.wait()
        for _ in range(4):
            m.call("cudaFree", 300)
            m.call("cudaMalloc", 300)
    top = first(made(body), "malloc-churn", 40)
    assert "8.0 cudaMalloc or cudaFree a step" in top["seen"], top

    def early(m):
        if m.number < 2:
            m.call("cudaMalloc", 3000)
        for _ in range(10):
            m.kernel(300, HALF, "aten::mm")
    assert "malloc-churn" not in advice.rules(made(early))


def test_collectives_that_nothing_hides():
    def body(m):
        for _ in range(10):
            m.kernel(300, HALF, "aten::mm")
        m.kernel(1500, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "nccl:all_reduce")
        m.wait()
    top = first(made(body), "communication", 30)
    assert "33 %" in top["seen"] and "one rank's file cannot tell" in top["why"], top


def test_several_gpus():
    def body(m):
        m.note("DistributedDataParallel.forward", 50)
        m.kernel(3000, HALF, "aten::mm")
        m.wait()
    assert "nccl" in [a["rule"] for a in made(body)["advice"]]
    machine = advice.Machine()
    for _ in range(4):
        machine.step(lambda m: (m.note("DataParallel.forward", 50), m.kernel(3000, HALF, "aten::mm"), m.wait()))
    twin = [{**e, "pid": 1, "args": {**e["args"], "device": 1}} for e in machine.events if e["cat"] == "kernel"]
    machine.events += twin
    with prof.folder() as log:
        found = advice.of(machine.file(log))
    assert "data-parallel" in [a["rule"] for a in found["advice"]], found


# ---- healthy ----

def busy(m):
    for _ in range(100):
        m.kernel(300, HALF, "aten::mm")
        m.kernel(30)


def test_a_busy_gpu_is_left_in_peace():
    healthy(made(busy))


def test_a_loss_that_is_read_once_is_normal():
    def body(m):
        busy(m)
        m.wait()
    found = made(body)
    healthy(found)
    assert "sync-point" not in advice.rules(found)


def test_hidden_copies_and_collectives_are_left_in_peace():
    machine = advice.Machine()

    def body(m):
        begin = m.host
        busy(m)
        m.slice("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", begin + 100, begin + 5000, pid=0, tid=8, device=0,
                stream=8, bytes=64 << 20)
        m.slice("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", begin + 9000, begin + 20000, pid=0, tid=9,
                device=0, stream=9)
        m.wait()
    for _ in range(6):
        machine.step(body)
    with prof.folder() as log:
        healthy(advice.of(machine.file(log)))


def test_a_short_loading_and_a_slow_first_step_are_left_in_peace():
    def body(m):
        if not m.number:
            m.note("## setup ##", 50000)
            m.call("cudaMalloc", 2000)
        m.load(400)
        busy(m)
        m.wait()
    found = made(body)
    healthy(found)
    assert [a["rule"] for a in found["advice"]][-1:] == ["first-step"], found


def test_what_was_not_recorded_is_said():
    found = made(busy)
    assert set(found["silent"]) == {"memory", "fragmentation", "gc-pause"}, found["silent"]
    assert "profile_memory=True" in found["silent"]["memory"], found["silent"]


if __name__ == "__main__":
    prof.main(sys.modules[__name__])
