/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_cuda - what is recorded of the GPU.
 *
 * Threads  none: plain data.
 * Memory   in CHUNK_CUDA chunks of the cycle of the *launching call*, written by the
 *          CUPTI consumer (side.h); but REC_COLLECTIVE and REC_STACK, which the
 *          calling thread writes into its own chunk (emit.h).
 * Errors   as record.h.
 * Units    r.begin and r.end are CUPTI nanoseconds (the epoch, as CUPTI's clock tells
 *          it) in CHUNK_CUDA records, ticks in the two others. REC_MOMENT ties the two
 *          clocks together: the writer places everything by it.
 */
#ifndef CORE_RECORD_CUDA_H
#define CORE_RECORD_CUDA_H

#include "agent/core/record.h"

enum call_flag {
	CALL_DRIVER = 1, /* a driver call, else runtime */
	CALL_LAUNCHES = 2, /* GPU work with its correlation id is expected */
	CALL_HOOK = 4, /* timed by our hook, not by CUPTI; times are ticks */
};

/* REC_CALL: a CUDA runtime or driver call; the name without its _v<digits>. */
struct rec_call {
	struct record r;
	uint32_t correlation;
	uint32_t cbid;
	uint32_t tid; /* OS thread id */
	int32_t result;
};

enum gpu_flag {
	GPU_GRAPH = 1, /* a struct gpu_graph follows */
	GPU_LATENCY = 2, /* then a struct gpu_latency */
	GPU_PEER = 4, /* then a struct gpu_peer (REC_COPY between devices) */
	GPU_ESTIMATE = 8, /* measured by events, not by CUPTI */
};

/* What kernels, copies, sets and graph launches begin with: 40 bytes. */
struct rec_gpu {
	struct record r; /* name: kernels (mangled) only */
	uint32_t correlation, context, stream;
	uint8_t device;
	int8_t priority; /* of the stream; 0 = not known */
	uint8_t channel_type; /* 0 = not known */
	uint8_t spare;
};

struct rec_kernel { /* 72 bytes, then what the flags say */
	struct rec_gpu g;
	uint32_t grid[3];
	uint16_t block[3];
	uint16_t registers; /* per thread */
	uint32_t static_shared, dynamic_shared; /* bytes */
	uint32_t channel;
};

struct rec_copy {
	struct rec_gpu g;
	uint64_t bytes;
	uint8_t kind, from, to; /* CUPTI's memcpy kind and memory kinds */
	uint8_t spare;
	uint32_t channel;
};

struct rec_set {
	struct rec_gpu g;
	uint64_t bytes;
	uint32_t value;
	uint16_t memory; /* CUPTI's memory kind */
	uint16_t spare;
	uint32_t channel, spare2;
};

/* REC_GRAPH: cuda_graphs = graph: a whole launch. g.device 255: it began on the host. */
struct rec_graph {
	struct rec_gpu g;
	uint32_t graph, spare;
};

struct gpu_graph {
	uint64_t node;
	uint32_t graph, spare;
};

struct gpu_latency {
	uint64_t queued, submitted; /* ns, 0 = not known */
};

struct gpu_peer {
	uint32_t from_device, from_context, to_device, to_context;
};

/* REC_SYNC */
struct rec_sync {
	struct record r;
	uint32_t correlation, context, stream; /* stream UINT32_MAX: does not apply */
	uint32_t type; /* CUPTI's synchronization type */
	uint32_t event; /* CUDA event id, UINT32_MAX = none */
	uint32_t spare;
	uint64_t event_sync; /* CUPTI's cudaEventSyncId; 0 = not known */
};

/* REC_EVENT: a cudaEventRecord. r.begin 0: CUPTI gives no time before 12.8. */
struct rec_event {
	struct record r;
	uint32_t correlation, context, stream, event;
	uint64_t event_sync;
};

/* REC_OVERHEAD */
struct rec_overhead {
	struct record r;
	uint32_t kind; /* CUPTI's overhead kind */
	uint32_t tid; /* thread it was in, 0 = not known */
	uint32_t correlation, spare;
};

/* REC_BLOCK: cuda_memory: an allocation or release, at r.begin. */
struct rec_block {
	struct record r;
	uint64_t address, bytes;
	uint32_t correlation, context, stream;
	uint32_t tid; /* 0 = not known */
	uint8_t operation; /* 1 allocation, 2 release */
	uint8_t memory; /* CUPTI's memory kind */
	uint8_t device, pool; /* pool: 1 = from one of ours, 2 = imported */
	uint32_t spare;
	uint64_t pool_size, pool_used; /* bytes, 0 = no pool */
};

/* REC_GPU: a device of this process, in every cycle that used it; r.name its name. */
struct rec_device {
	struct record r;
	uint64_t memory; /* bytes */
	uint32_t id;
	uint16_t major, minor; /* compute capability */
	uint32_t sms;
	uint32_t threads_per_block, threads_per_sm, warp;
	uint32_t registers_per_block, registers_per_sm;
	uint32_t shared_per_block, shared_per_sm; /* bytes */
	uint32_t shared_optin, shared_reserved; /* per block; 0 = not known */
	uint32_t spare;
};

/* REC_MOMENT: CUPTI's clock showed r.end ns at r.begin ticks, give or take `error`. */
struct rec_moment {
	struct record r;
	uint64_t error; /* ticks */
};

/* REC_COLLECTIVE: an NCCL call, in the calling thread's chunk; r.name is the NCCL
 * function; times are ticks. */
struct rec_collective {
	struct record r;
	uint64_t count; /* elements sent (or received, for a receive) */
	uint64_t comm; /* the communicator's address */
	int32_t type; /* ncclDataType_t, -1 = none */
	int32_t rank, size; /* of the communicator, -1 = not known */
	int32_t peer; /* root or peer, -1 = none */
};

/* REC_STACK: the native stack of a CUDA call (r.name), at r.begin; in the calling
 * thread's chunk. Joined to its call by thread, function and order. */
struct rec_stack {
	struct record r;
	uint32_t stack; /* id: agent/core/stacks.h */
	uint32_t spare;
};

_Static_assert(sizeof(struct rec_call) == 40, "a call");
_Static_assert(sizeof(struct rec_gpu) == 40, "GPU work");
_Static_assert(sizeof(struct rec_kernel) == 72, "a kernel");

#endif
