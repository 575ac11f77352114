/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record - every record that observers write and the writer reads; and record_*.h.
 *
 * Threads  none: plain data.  A record is written by one thread; its `end` may be stored
 *          later, by any thread, while its cycle is current.
 * Memory   chunks of the spool, 8-byte aligned, back to back, in the order of begins.
 * Errors   a reader checks `units` against the chunk: a spool may be damaged or hostile.
 * Units    times are clock ticks (clock.h), sizes in `units` are 8 bytes.
 */
#ifndef CORE_RECORD_H
#define CORE_RECORD_H

#include <stdint.h>

/* KIND(name, text): the text is what drops and events are reported under. */
#define RECORD_KINDS(KIND)                \
	KIND(NONE, "none")                \
	KIND(THREAD, "threads")           \
	KIND(OP, "operators")             \
	KIND(ANNOTATION, "annotations")   \
	KIND(STEP, "steps")               \
	KIND(MEMORY, "memory")            \
	KIND(OOM, "out_of_memory")        \
	KIND(CALL, "cuda_calls")          \
	KIND(KERNEL, "kernels")           \
	KIND(COPY, "gpu_copies")          \
	KIND(SET, "gpu_sets")             \
	KIND(GRAPH, "graph_launches")     \
	KIND(SYNC, "cuda_syncs")          \
	KIND(EVENT, "cuda_events")        \
	KIND(OVERHEAD, "cupti_overheads") \
	KIND(BLOCK, "cuda_memory")        \
	KIND(GPU, "gpus")                 \
	KIND(MOMENT, "cupti_moments")     \
	KIND(COLLECTIVE, "collectives")   \
	KIND(STACK, "stacks")             \
	KIND(ALLOC, "heap_allocations")   \
	KIND(FREE, "heap_frees")          \
	KIND(HEAP, "heap_counters")       \
	KIND(MODULE, "modules")           \
	KIND(FUNCTION, "functions")       \
	KIND(PYTHON, "python_events")     \
	KIND(C_CALL, "c_calls")

enum record_kind {
#define KIND(name, text) REC_##name,
	RECORD_KINDS(KIND)
#undef KIND
		REC_KINDS
};

/* What every record begins with: 24 bytes. */
struct record {
	uint8_t kind; /* enum record_kind */
	uint8_t flags; /* per kind */
	uint16_t units; /* whole size in 8-byte units */
	uint32_t name; /* names.h; 0 = none */
	uint64_t begin;
	uint64_t end; /* 0: still open (or, for instants, unused) */
};

/* Fills what says how a record is to be read; its name and times are the caller's. */
static inline void record_mark(struct record *r, enum record_kind kind, uint8_t flags,
			       uint32_t bytes)
{
	r->kind = (uint8_t)kind;
	r->flags = flags;
	r->units = (uint16_t)(bytes / 8);
}

static inline _Bool record_is_heap(enum record_kind kind)
{
	return kind == REC_ALLOC || kind == REC_FREE;
}

/* All records after it in this chunk, up to the next REC_THREAD, are this thread's. */
struct rec_thread {
	struct record r; /* begin = when it was written */
	uint32_t tid; /* OS thread id */
	uint32_t ordinal; /* torch's logical thread id; 0 = not known yet */
	char comm[16]; /* pthread name, not always terminated */
};

enum op_flag {
	OP_INPUTS = 1, /* an input description follows (record_inputs.h) */
	OP_CUT = 2, /* inputs did not fit and were left out */
	OP_NO_SEQ = 4, /* seq and fwd_thread could not be read */
	OP_STACK = 8, /* a call stack follows, before the inputs (record_stack.h) */
	OP_SHARES = 16, /* ... that of the operator around it */
};

/* REC_OP (scopes 0, 1, 2) and REC_ANNOTATION (scope 7): 40 bytes, and what follows. */
struct rec_op {
	struct record r;
	int64_t seq; /* autograd sequence number, -1 = none */
	uint32_t fwd_thread; /* ordinal of the forward thread, 0 = forward op */
	uint8_t scope; /* at::RecordScope */
	uint8_t spare[3];
};

enum step_flag { STEP_VOID = 1 }; /* its stage was left before it was one */
struct rec_step { /* ProfilerStep#N, of the thread that made the boundary */
	struct record r;
	int64_t number;
};

/* REC_MEMORY and REC_OOM: an instant at r.begin. */
struct rec_memory {
	struct record r;
	uint64_t addr; /* 0 for REC_OOM */
	int64_t bytes; /* negative = free */
	uint64_t allocated; /* total after the event, bytes */
	uint64_t reserved;
	int8_t device_type; /* c10::DeviceType: 0 CPU, 1 CUDA */
	int8_t device_index; /* -1 for CPU */
	uint8_t spare[6];
};

#endif
