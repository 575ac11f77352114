/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda - the GPU part of a window while its file is made: what the files of this folder
 * share.
 *
 * Threads  one at a time.
 * Memory   a map for the struct, piles for what grows; gpu_free gives all back.
 * Errors   as gpu.h.
 * Units    as named.
 */
#ifndef WRITER_GPU_CUDA_H
#define WRITER_GPU_CUDA_H

#include "writer/gpu/args.h"
#include "writer/gpu/calls.h"
#include "writer/gpu/clock.h"
#include "writer/gpu/rows.h"
#include "writer/gpu/stacks.h"
#include "writer/gpu/sync.h"
#include "writer/trace.h"

#define CUDA_DEVICES 64 /* as many as readers take */
#define CUDA_BEHIND  3600e9 /* ns: how far behind a window its GPU work may lie */

struct cuda {
	struct pile calls; /* struct cuda_call, by thread and begin */
	struct pile work; /* struct cuda_work, by row and begin */
	struct pile events; /* struct cuda_event, by key and time */
	struct pile stacks; /* struct cuda_stack, by thread and time */
	struct pile owners; /* struct cuda_owner */
	struct pile annotations; /* struct cuda_annotation */
	struct pile collectives; /* struct gpu_collective */
	struct cuda_clock clock;
	uint32_t *by_correlation; /* open addressing: call + 1 */
	size_t slots;
	size_t next; /* next call to be written */
	int64_t last; /* ns: end of the last GPU work */
	/* Distance from a stream's row number to that of its waits: larger than any
	 * stream. */
	uint64_t waits;
	bool stream_one; /* a stream has the number 1 */
	uint64_t known[CUDA_COUNTS]; /* counted by the writer, beside the agent's */
	uint32_t named[2]; /* names seen last: a call's or copy's; a kernel's */
	uint64_t gpu, matched; /* pieces of GPU work; those with their call */
	const struct rec_device *device[CUDA_DEVICES];
	uint32_t devices; /* highest id + 1 */
	struct { /* the device of each context */
		uint32_t context, device;
	} context[CUDA_DEVICES];
	unsigned contexts;
	struct demangle *demangle;
	struct kernel_slot kernel[KERNEL_SLOTS];
};

static inline struct cuda_call *cuda_call_at(const struct cuda *c, size_t i)
{
	return (struct cuda_call *)c->calls.mem + i;
}

static inline struct cuda_work *cuda_work_at(const struct cuda *c, size_t i)
{
	return (struct cuda_work *)c->work.mem + i;
}

/* The call that caused the work; NULL: the call was not seen. */
static inline struct cuda_call *cuda_caller(const struct cuda *c,
					    const struct cuda_work *w)
{
	return w->call ? cuda_call_at(c, w->call - 1) : NULL;
}

static inline const void *cuda_record(const struct trace *t, uint64_t offset)
{
	return t->view->base + offset;
}

static inline const struct rec_gpu *cuda_gpu(const struct trace *t,
					     const struct cuda_work *w)
{
	return cuda_record(t, (uint64_t)w->at * 8);
}

/* read.c: the device of a context, as GPU work in it tells; 0 where none does. */
uint32_t gpu_device_of(const struct cuda *c, uint32_t context);
/* missing.c: counts the calls whose GPU work should be there and is not. */
int gpu_count_missing(struct trace *t);
/* snap.c: moves each call inside or outside of operators, so that none crosses an
 * edge. */
int gpu_snap(struct trace *t);
/* slices.c: writes piece of work i as a slice of `row`, and the end of its arrow. */
int gpu_put_work(struct trace *t, struct row *row, size_t i);

#endif
