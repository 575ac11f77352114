/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls - CUDA's calls, and what is around each on its thread's row.
 *
 * Threads  one at a time.
 * Memory   piles of struct cuda: 72 bytes a call, 24 an annotation; an owner for each
 *          level of nesting.
 * Errors   as gpu.h.
 * Units    ticks, or ns as named.
 */
#ifndef WRITER_GPU_CALLS_H
#define WRITER_GPU_CALLS_H

#include "writer/read.h"

enum cuda_call_mark {
	MARK_EARLY = 1, /* the call's GPU work seems to begin before it */
	MARK_NO_ARROW = 2, /* the work even ends before the call does */
	MARK_UNDER = 4, /* a driver call under a runtime call of the same id */
};

struct cuda_call {
	uint64_t begin, end; /* ticks */
	uint64_t at; /* offset of its record */
	uint64_t external; /* "External id" of its owner; 0 = none */
	int64_t begin_ns; /* its begin as it was written */
	uint32_t tid, correlation;
	uint32_t first; /* GPU work that its arrow goes to, + 1 */
	uint32_t annotation, collective; /* + 1 */
	uint32_t stack; /* place in struct cuda.stacks, + 1 */
	uint16_t flags; /* enum call_flag */
	uint16_t marks; /* enum cuda_call_mark */
};

struct cuda_annotation {
	uint64_t external; /* its "External id" */
	uint32_t name;
	uint32_t row; /* the last GPU row that has a note of it, by number ... */
	uint32_t note; /* ... and that note's place */
	uint32_t spare;
};

struct gpu_collective { /* a collective operator: each kernel of its asks for details */
	struct cursor behind; /* just behind its record */
	uint64_t at; /* its record's offset */
};

/* An operator, annotation or step around the writer's current place. */
struct cuda_owner {
	uint64_t end; /* ticks */
	uint64_t slice; /* "External id" of this slice, ... */
	uint64_t op; /* ... of the innermost operator ... */
	uint64_t nccl; /* ... and of the innermost nccl:* */
	uint32_t annotation, collective; /* + 1 */
};

#endif
