#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""Every kind of record of every version of CUPTI, each field with a value of its own: what
of it is in the finished file, and where.

tests/programs/cuda_fields.c writes down each record as the headers of the version have
it. A field is in FOUND, by what the file says, or in UNSHOWN; there is no third.
"""
import json
import os
import re
import sys

import cuda
import prof

WAYS = ("?", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP")
MEMORIES = ("Unknown", "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static",
            "Managed Static")
SYNCS = ("?", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync")
OVERHEADS = {0: "Unknown", 1 << 16: "Buffer Flush", 2 << 16: "Instrumentation", 3 << 16: "Resource"}
CALLS = {("RUNTIME", 211): "cudaLaunchKernel", ("RUNTIME", 135): "cudaEventRecord",
         ("DRIVER", 307): "cuLaunchKernel"}
GPU = "flags isDeviceLaunched sourceGraphId sourceGraphNodeId"
UNSHOWN = {
    "RUNTIME": "processId returnValue", "DRIVER": "processId returnValue",
    "MEMCPY": f"{GPU} runtimeCorrelationId copyCount",
    "MEMCPY2": GPU, "MEMSET": f"{GPU} value",
    "CONCURRENT_KERNEL":
        f"{GPU} sharedMemoryConfig partitionedGlobalCacheRequested partitionedGlobalCacheExecuted "
        "completed localMemoryPerThread localMemoryTotal gridId launchType sharedMemoryExecuted "
        "isSharedMemoryCarveoutRequested sharedMemoryCarveoutRequested shmemLimitConfig "
        "pAccessPolicyWindow clusterX clusterY clusterZ clusterSchedulingPolicy "
        "localMemoryTotal_v2 maxPotentialClusterSize maxActiveClusters executionModel",
    "GRAPH_TRACE": "endDeviceId endContextId",
    "SYNCHRONIZATION": "returnValue", "CUDA_EVENT": "deviceId",
    "OVERHEAD": "objectKind correlationId overheadData objectId.pt.processId objectId.pt.threadId",
    "MEMORY2": "PC processId name isAsync source memoryPoolConfig.address "
               "memoryPoolConfig.releaseThreshold",
    "DEVICE": "flags globalMemoryBandwidth constantMemorySize l2CacheSize coreClockRate numMemcpyEngines "
              "maxIPC maxBlocksPerMultiprocessor maxBlockDimX maxBlockDimY maxBlockDimZ maxGridDimX "
              "maxGridDimY maxGridDimZ eccEnabled isCudaVisible isMigEnabled gpuInstanceId "
              "computeInstanceId isNumaNode numaId numTpcs",
}


class File:
    def __init__(self, path):
        self.trace = trace = prof.Trace(path)
        self.base = trace.raw["baseTimeNanoseconds"]
        self.error = cuda.gpu_facts(trace)["clock error ns"] + 2000
        self.by_id = {}
        for event in trace.raw["traceEvents"]:
            number = event.get("args", {}).get("correlation")
            if number is not None:
                self.by_id.setdefault((event["cat"], number), []).append(event)

    def one(self, number, *kinds):
        (event,) = [e for kind in kinds for e in self.by_id.get((kind, number), [])]
        return event

    def near(self, event, begin):
        """Our clock is not CUPTI's: as near as the file promises."""
        off = self.base + cuda.ns(event["ts"]) - begin
        assert abs(off) <= self.error, (event, off, self.error)
        return begin

    def times(self, event, record, slack=0):
        length = record["end"] - record["start"]
        assert abs(cuda.ns(event["dur"]) - length) <= slack, (event, record)
        return {"start": self.near(event, record["start"]), "end": record["end"]}


def call(file, record):
    event = file.one(record["correlationId"], f"cuda_{record['KIND'].lower()}")
    assert event["name"] == CALLS[record["KIND"], record["cbid"]], event
    assert event["pid"] == file.trace.pid, event
    return {**file.times(event, record, slack=1), "cbid": event["args"]["cbid"],
            "threadId": event["tid"], "correlationId": event["args"]["correlation"]}


def ran(file, event, record):
    args = event["args"]
    assert event["tid"] == args["stream"], event
    device, context = ("inDevice", "inContext") if "inDevice" in args else ("device", "context")
    assert event["pid"] == args[device], event
    return {**file.times(event, record), "deviceId": args[device], "contextId": args[context],
            "streamId": args["stream"], "correlationId": args["correlation"]}


def node(event, record):
    """The file has one byte of the channel's type, which has four values."""
    args = event["args"]
    assert args["channel_type"] == record["channelType"] & 255, event
    return {"graphId": args["graph id"], "graphNodeId": args["graph node id"],
            "channelID": args["channel"], "channelType": record["channelType"]}


def kernel(file, record):
    event = file.one(record["correlationId"], "kernel")
    args = event["args"]
    assert args["shared memory"] == record["staticSharedMemory"] + record["dynamicSharedMemory"], event
    found = {"name": event["name"], "registersPerThread": args["registers per thread"],
             "staticSharedMemory": record["staticSharedMemory"],
             "dynamicSharedMemory": record["dynamicSharedMemory"],
             "queued": args["queued"], "submitted": args["submitted"]}
    if "priority" in args:
        found["priority"] = args["priority"] % 2**32
    for what in "grid", "block":
        found.update({what + axis: number for axis, number in zip("XYZ", args[what])})
    return {**ran(file, event, record), **node(event, record), **found}


def serial(file, record):
    """Kernels that run one at a time are another client's."""
    assert not file.trace.named(record["name"]), record
    assert len(cuda.of(file.trace, "kernel")) == 2, "the kernel and the graph"
    return dict(record)


def copy(file, record):
    event = file.one(record["correlationId"], "gpu_memcpy")
    args = event["args"]
    way, source, target = re.fullmatch(r"Memcpy (\w+) \((.+) -> (.+)\)", event["name"]).groups()
    wanted = args["bytes"] / (record["end"] - record["start"])
    assert abs(args["memory bandwidth (GB/s)"] - wanted) < 1e-6 * wanted, event
    found = {"bytes": args["bytes"], "copyKind": WAYS.index(way),
             "srcKind": MEMORIES.index(source), "dstKind": MEMORIES.index(target)}
    if record["KIND"] == "MEMCPY2":
        found.update({"srcDeviceId": args["fromDevice"], "srcContextId": args["fromContext"],
                      "dstDeviceId": args["toDevice"], "dstContextId": args["toContext"]})
    return {**ran(file, event, record), **node(event, record), **found}


def fill(file, record):
    event = file.one(record["correlationId"], "gpu_memset")
    memory = re.fullmatch(r"Memset \((.+)\)", event["name"])[1]
    return {**ran(file, event, record), **node(event, record), "bytes": event["args"]["bytes"],
            "memoryKind": MEMORIES.index(memory)}


def graph(file, record):
    event = file.one(record["correlationId"], "kernel")
    assert event["name"] == f"CUDA graph {record['graphId']}", event
    return {**ran(file, event, record), "graphId": event["args"]["graph id"]}


def waits(file, record):
    """Of its event's two records the one with its cudaEventSyncId, else the latest."""
    event = file.one(record["correlationId"], "cuda_sync")
    args = event["args"]
    found = {**file.times(event, record), "type": SYNCS.index(args["cuda_sync_kind"]),
             "correlationId": args["correlation"], "contextId": args["context"],
             "streamId": args["stream"]}
    if record["type"] == 3:
        copied = file.records["copy"]
        assert args["device"] == event["pid"] == copied["deviceId"], "by its context"
        return {**found, "cudaEventId": record["cudaEventId"],
                "cudaEventSyncId": record.get("cudaEventSyncId")}
    known = "cudaEventSyncId" in record
    meant = file.records["event" if known else "later event"]
    assert args["wait_on_cuda_event_record_corr_id"] == meant["correlationId"], (event, meant)
    assert args["wait_on_stream"] == meant["streamId"], (event, meant)
    return {**found, "cudaEventId": args["wait_on_cuda_event_id"],
            "cudaEventSyncId": meant.get("cudaEventSyncId")}


def recorded(file, record):
    """Before 12.8 without a time, and so without a slice: `waits` has what it says."""
    if "deviceTimestamp" not in record:
        assert not cuda.of(file.trace, "cuda_event")
        return dict(record)
    event = file.one(record["correlationId"], "cuda_event")
    args = event["args"]
    assert event["dur"] == 0 and event["tid"] == args["stream"], event
    return {"correlationId": args["correlation"], "contextId": args["context"],
            "streamId": args["stream"], "eventId": args["event_id"],
            "deviceTimestamp": file.near(event, record["deviceTimestamp"]),
            "cudaEventSyncId": record.get("cudaEventSyncId")}


def overhead(file, record):
    (event,) = cuda.of(file.trace, "overhead")
    assert event["name"] == OVERHEADS[record["overheadKind"]], event
    return {**file.times(event, record), "overheadKind": record["overheadKind"]}


def block(file, record):
    event = file.one(record["correlationId"], "cuda_memory")
    args = event["args"]
    pool = "pool size" in args
    found = {"timestamp": file.near(event, record["timestamp"]), "address": args["Addr"],
             "memoryOperationType": {"CUDA allocation": 1, "CUDA release": 2}[event["name"]],
             "bytes": args["Bytes"], "deviceId": args["Device Id"], "contextId": args["context"],
             "streamId": args["stream"], "correlationId": args["correlation"],
             "memoryKind": MEMORIES.index(args["memory"]),
             "memoryPoolConfig.memoryPoolType": int(pool)}
    for field, arg in ("pool.size", "pool size"), ("utilizedSize", "pool used"):
        found["memoryPoolConfig." + field] = args[arg] if pool else record["memoryPoolConfig." + field]
    return found


def device(file, record):
    (found,) = [d for d in file.trace.raw["deviceProperties"] if d["id"] == record["id"]]
    warps = record["maxWarpsPerMultiprocessor"]
    assert found["maxThreadsPerMultiprocessor"] == warps * found["warpSize"] % 2**32, found
    return {"id": found["id"], "name": found["name"], "globalMemorySize": found["totalGlobalMem"],
            "computeCapabilityMajor": found["computeMajor"] | record["computeCapabilityMajor"] & ~0xffff,
            "computeCapabilityMinor": found["computeMinor"] | record["computeCapabilityMinor"] & ~0xffff,
            "maxWarpsPerMultiprocessor": warps, "numThreadsPerWarp": found["warpSize"],
            "maxThreadsPerBlock": found["maxThreadsPerBlock"],
            "maxRegistersPerBlock": found["regsPerBlock"],
            "maxSharedMemoryPerBlock": found["sharedMemPerBlock"],
            "numMultiprocessors": found["numSms"],
            "maxRegistersPerMultiprocessor": found["regsPerMultiprocessor"],
            "maxSharedMemoryPerMultiprocessor": found["sharedMemPerMultiprocessor"]}


FOUND = {"launch": call, "event call": call, "driver call": call, "failed call": call,
         "kernel": kernel, "serial": serial, "copy": copy, "peer": copy, "set": fill,
         "graph": graph, "event": recorded, "later event": recorded, "stream waits": waits,
         "stream sync": waits, "overhead": overhead, "allocation": block, "release": block,
         "device": device}


def check(version, file, record):
    found = FOUND[record["NAME"]](file, record)
    unshown = UNSHOWN.get(record["KIND"], "").split()
    for field, value in record.items():
        if field in ("KIND", "NAME", "kind"):
            continue
        what = (version, record["NAME"], field)
        assert (field in found) != (field in unshown) or record["NAME"] == "serial", what
        assert field not in found or found[field] == value, (*what, value, found[field])
    lacks = [f for f, value in found.items() if f not in record and value is not None]
    assert not lacks, (version, record["NAME"], lacks)


def test_every_field_of_every_kind_of_every_version():
    for version in cuda.VERSIONS:
        with prof.folder() as log:
            truth = os.path.join(log, "truth")
            run = prof.launch([prof.prog("cuda_fields"), truth], os.path.join(log, "ours"),
                              env=cuda.environment(version), marker="none", cuda_sync=True,
                              cuda_memory=True, cuda_latency=True)
            with open(truth, encoding="utf-8") as lines:
                records = [json.loads(line) for line in lines]
            assert {r["NAME"] for r in records} == set(FOUND), version
            file = File(run.only().path)
            file.records = {r["NAME"]: r for r in records}
            for record in records:
                check(version, file, record)
            # Of the two calls without GPU work the one that says it failed, and
            # what did not launch, is not missed.
            facts = cuda.gpu_facts(file.trace)
            assert (facts["GPU work"], facts["matched"]) == (5, 5), facts
            assert facts["calls without their GPU work"] == 1, facts
            prof.strict(run.paths())


prof.main(sys.modules[__name__])
