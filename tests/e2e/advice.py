# SPDX-License-Identifier: Apache-2.0
"""What the tests of advice share: the advice of a file, and a host with a GPU that exist on paper.

The machine keeps two clocks, the host's and the stream's. A kernel begins when it has been launched and
the stream is free, and a wait ends when the stream is: what a program does wrong shows as it does on a GPU.
"""
import json
import os

import prof

A100 = {"id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 80 << 30, "computeMajor": 8,
        "computeMinor": 0, "numSms": 108}
V100 = {**A100, "name": "Tesla V100", "totalGlobalMem": 16 << 30, "computeMajor": 7}
GEMM = "ampere_sgemm_128x64_nn"
HALF = "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_nn"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"


def of(path):
    answer = prof.plain([prof.prog("report_advice"), path])
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def rules(found, above=0.0):
    return [a["rule"] for a in found["advice"] if a["percent"] > above]


class Machine:
    def __init__(self, gpu=None):
        self.events, self.host, self.free, self.number, self.id = [], 1000.0, 0.0, 0, 0
        self.gpu = gpu or A100

    def slice(self, cat, name, begin, end, pid=1, tid=1, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": round(begin, 3),
                            "dur": round(end - begin, 3), "args": args})

    def step(self, body):
        begin = self.host
        body(self)
        self.slice("user_annotation", f"ProfilerStep#{self.number}", begin, self.host)
        self.number += 1

    def python(self, us):
        self.host += us

    def note(self, name, us):
        self.slice("user_annotation", name, self.host, self.host + us)
        self.host += us

    def load(self, us, workers=False):
        kind = "MultiProcessing" if workers else "SingleProcess"
        self.note(f"enumerate(DataLoader)#_{kind}DataLoaderIter.__next__", us)

    def work(self, cat, name, us, op, call, launch=5.0, stream=7, **args):
        """An operator that takes `launch` on the host, and gives the stream some work."""
        self.id += 1
        begin, called = self.host, self.host + launch * 0.9
        self.host += launch
        at = max(called + 2, self.free)
        self.free = at + us
        stack = f"train.py({10 + len(op)}): main" if op else ""
        if op:
            self.slice("cpu_op", op, begin, self.host, **{"External id": self.id, "Call stack": stack})
        self.slice("cuda_runtime", call, begin + launch * 0.2, called, correlation=self.id,
                   **{"External id": self.id})
        self.slice(cat, name, at, at + us, pid=0, tid=stream, device=0, stream=stream, correlation=self.id,
                   **{"External id": self.id}, **args)

    def kernel(self, us, name=ADD, op="aten::add", launch=5.0):
        self.work("kernel", name, us, op, "cudaLaunchKernel", launch)

    def copy(self, us, mib, source="Pageable", op="aten::copy_"):
        self.work("gpu_memcpy", f"Memcpy HtoD ({source} -> Device)", us, op, "cudaMemcpyAsync", 8.0,
                  bytes=int(mib * (1 << 20)))

    def wait(self, op="aten::item"):
        """The host waits for the stream, and is behind it by a little."""
        begin, end = self.host, max(self.host + 2, self.free + 3)
        self.slice("cpu_op", op, begin, end + 2, **{"Call stack": "loss.py(7): log;train.py(20): main"})
        self.slice("cuda_runtime", "cudaStreamSynchronize", begin + 1, end)
        self.host = end + 2

    def call(self, name, us):
        self.slice("cuda_runtime", name, self.host, self.host + us)
        self.host += us

    def file(self, folder, name="made.json"):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"deviceProperties": [self.gpu], "traceEvents": self.events}, file)
        return path


def made(body, steps=6, gpu=None):
    """What is said of a program with such steps; `body` may look at machine.number."""
    machine = Machine(gpu)
    for _ in range(steps):
        machine.step(body)
    with prof.folder() as log:
        return of(machine.file(log))
