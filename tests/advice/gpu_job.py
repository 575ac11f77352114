# SPDX-License-Identifier: Apache-2.0
"""A GPU job that never ran: a host with two threads and streams that work in order, written as Kineto writes them.

Times are µs.  The host moves on with work(); what is launched begins when its stream is free.
"""
import contextlib
import json

LAUNCH_US = 4.0
H100 = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 84930199552, "computeMajor": 9,
        "computeMinor": 0, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
        "regsPerBlock": 65536, "warpSize": 32, "sharedMemPerBlock": 49152, "numSms": 132,
        "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448,
        "sharedMemPerMultiprocessor": 233472}


class Job:
    def __init__(self, rank=0, world=1):
        self.rank, self.world = rank, world
        self.pid, self.main = 3100 + rank, 3100 + rank
        self.thread = self.main
        self.now, self.free = 1000.0, {}
        self.events, self.ids, self.open = [], 0, []
        self.allocated, self.reserved = 12 << 30, 20 << 30

    # ---- host ----

    def fresh(self):
        self.ids += 1
        return self.ids

    def slice(self, cat, name, begin, end, **args):
        row = {"ph": "X", "cat": cat, "name": name, "pid": self.pid, "tid": self.thread,
               "ts": round(begin, 3), "dur": round(end - begin, 3), "args": args}
        self.events.append(row)
        return row

    def work(self, us):
        self.now += us

    @contextlib.contextmanager
    def op(self, name, us=6.0, cat="cpu_op", **args):
        """An operator that takes `us` of the host beside what it calls."""
        number, begin = self.fresh(), self.now
        row = self.slice(cat, name, begin, begin, **{"External id": number, "Record function id": 0,
                                                     "Ev Idx": number, **args})
        self.open.append(number)
        self.work(us / 2)
        yield
        self.work(us / 2)
        self.open.pop()
        row["dur"] = round(self.now - begin, 3)

    @contextlib.contextmanager
    def step(self, number):
        with self.op(f"ProfilerStep#{number}", us=2.0, cat="user_annotation"):
            yield

    @contextlib.contextmanager
    def backward(self):
        """What is inside runs in autograd's thread; the main thread waits for it."""
        self.thread = self.main + 40
        yield
        self.thread = self.main

    def next_batch(self, us, workers=4):
        kind = "_MultiProcessingDataLoaderIter" if workers else "_SingleProcessDataLoaderIter"
        with self.op(f"enumerate(DataLoader)#{kind}.__next__", us=us, cat="user_annotation"):
            pass

    # ---- device ----

    def call(self, name, us=LAUNCH_US):
        """A call of CUDA; the number that links it with what it started."""
        number = self.fresh()
        self.slice("cuda_runtime", name, self.now, self.now + us,
                   **{"External id": self.open[-1] if self.open else 0, "cbid": 211,
                      "correlation": number})
        self.work(us)
        return number

    def on_device(self, cat, name, us, stream, correlation, after=0.0, **args):
        begin = max(self.free.get(stream, 0.0), self.now + 1.5, after)
        row = self.slice(cat, name, begin, begin + us,
                         **{"External id": self.open[-1] if self.open else 0, "device": 0,
                            "context": 1, "stream": stream, "correlation": correlation, **args})
        row["pid"], row["tid"] = 0, stream
        for phase, pid, tid, ts in (("s", self.pid, self.thread, self.now), ("f", 0, stream, begin)):
            arrow = {"ph": phase, "id": correlation, "pid": pid, "tid": tid, "ts": round(ts, 3),
                     "cat": "ac2g", "name": "ac2g"}
            self.events.append({**arrow, "bp": "e"} if phase == "f" else arrow)
        self.free[stream] = begin + us
        return begin + us

    def launch(self, name, us, stream=7, grid=(528, 1, 1), after=0.0, **args):
        number = self.call("cudaLaunchKernel")
        blocks = grid[0] * grid[1] * grid[2]
        shape = {"registers per thread": 96, "shared memory": 0, "grid": list(grid),
                 "block": [256, 1, 1], "blocks per SM": round(blocks / 132, 4),
                 "warps per SM": round(blocks * 8 / 132, 4),
                 "est. achieved occupancy %": min(100, round(blocks * 8 / 132 / 64 * 100))}
        return self.on_device("kernel", name, us, stream, number, after, **shape, **args)

    def copy(self, kind, size, gb_per_s, stream=7, pinned=True):
        """A copy; the host waits for one from pageable memory."""
        number = self.call("cudaMemcpyAsync")
        us = size / gb_per_s / 1e3
        end = self.on_device("gpu_memcpy", f"Memcpy {kind}", us, stream, number, bytes=size,
                             **{"memory bandwidth (GB/s)": gb_per_s})
        if not pinned:
            self.last_call()["dur"] = round(end - self.now + LAUNCH_US, 3)
            self.now = max(self.now, end)
        return end

    def last_call(self):
        return next(e for e in reversed(self.events) if e.get("cat") == "cuda_runtime")

    def wait(self, call="cudaStreamSynchronize", stream=7):
        begin = self.now
        number = self.call(call)
        self.now = max(self.now, self.free.get(stream, 0.0) + 2.0)
        self.last_call()["dur"] = round(self.now - begin, 3)
        return number

    def keep_ahead(self, us):
        """The host waits for an event, so that it is at most `us` ahead of the device."""
        if self.free[7] - us > self.now + LAUNCH_US:
            begin = self.now
            self.call("cudaEventSynchronize")
            self.now = self.free[7] - us
            self.last_call()["dur"] = round(self.now - begin, 3)

    def memory(self, size, address=0):
        """A tensor is made (or, below zero, freed) on the GPU."""
        self.allocated += size
        self.reserved = max(self.reserved, self.allocated)
        self.events.append({
            "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": self.pid,
            "tid": self.thread, "ts": round(self.now, 3),
            "args": {"Total Reserved": self.reserved, "Total Allocated": self.allocated,
                     "Bytes": size, "Addr": address or 140000000000 + 4096 * self.fresh(),
                     "Device Id": 0, "Device Type": 1, "Ev Idx": self.fresh()}})

    # ---- file ----

    def write(self, path):
        names = [{"ph": "M", "name": "process_name", "ts": 1000.0, "pid": pid, "tid": 0,
                  "args": {"name": name}} for pid, name in ((self.pid, "python"), (0, "python"))]
        end = max(e["ts"] + e.get("dur", 0.0) for e in self.events)
        trailer = [{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans",
                    "tid": "PyTorch Profiler", "ts": 1000.0, "dur": end - 1000.0,
                    "args": {"Op count": len(self.events)}}]
        head = {"schemaVersion": 1, "deviceProperties": [H100], "cupti_version": 26,
                "cuda_runtime_version": 12080, "cuda_driver_version": 12080, "profile_memory": 1,
                "record_shapes": 1, "with_stack": 0, "displayTimeUnit": "ms",
                "baseTimeNanoseconds": 1700000000000000000}
        if self.world > 1:
            head["distributedInfo"] = {"backend": "nccl", "rank": self.rank, "world_size": self.world,
                                       "pg_count": 1, "nccl_version": "2.26.2"}
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**head, "traceEvents": names + self.events + trailer}, file)
