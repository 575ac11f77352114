/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_cuda - what the CPU asked of CUDA: calls, waits, allocations, collectives.
 *
 * Threads  none: plain data.
 * Memory   in CHUNK_CUDA chunks of the cycle in which the call began, written by the
 *          CUPTI consumer (core/gpu_chunk.h); but REC_COLLECTIVE and REC_STACK, which the
 *          calling thread writes into its own chunk (emit.h).
 * Errors   as record.h.
 * Units    r.begin and r.end are CUPTI nanoseconds (the epoch, as CUPTI's clock tells
 *          it) in CHUNK_CUDA records, ticks in the two others; REC_MOMENT
 *          (record_gpu.h) ties the two clocks together.
 */
#ifndef CORE_RECORD_CUDA_H
#define CORE_RECORD_CUDA_H

#include "agent/core/chunk.h"
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
	uint8_t device, pool; /* pool: 1 = this process's, 2 = imported */
	uint32_t spare;
	uint64_t pool_size, pool_used; /* bytes, 0 = no pool */
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

#endif
