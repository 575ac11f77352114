/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args - members of a GPU event's "args", each with a comma behind it.
 *
 * Threads  one at a time.
 * Memory   the texts of the last kernel shapes, in struct cuda.kernel.
 * Errors   none of its own: what the record does not say is left out.
 * Units    as Kineto writes them: bytes, GB/s, blocks, warps, percent.
 */
#ifndef WRITER_GPU_ARGS_H
#define WRITER_GPU_ARGS_H

#include "agent/core/record_cuda.h"
#include "agent/core/record_gpu.h"
#include "writer/json.h"

struct trace;

#define KERNEL_SLOTS 512 /* a power of two */
#define KERNEL_TEXT  740

struct kernel_shape { /* what the same kernel is launched with again and again */
	uint32_t grid[3];
	uint16_t block[3], registers;
	uint32_t static_shared, dynamic_shared, device;
};

struct kernel_slot { /* ... and what is written of it */
	struct kernel_shape shape;
	uint32_t len; /* 0 = empty */
	char text[KERNEL_TEXT];
};

/* Registers, shared memory, grid, block, and where the device is known its load. */
void gpu_put_shape(struct trace *t, const struct rec_kernel *k);
/* The graph and its node; nothing outside of graphs. */
void gpu_put_graph(struct json *j, const struct rec_gpu *g);
/* The hardware queue; nothing where CUPTI does not tell its type. */
void gpu_put_channel(struct json *j, const struct rec_gpu *g, uint32_t channel);
/* Nothing where the work took no time at all. */
void gpu_put_bandwidth(struct json *j, uint64_t bytes, int64_t ns);
/* A CUpti_ActivityMemoryKind in Kineto's words; "Unknown" for a number that is none. */
const char *gpu_memory_name(unsigned kind);
/* The struct gpu_graph, gpu_latency or gpu_peer behind the record; NULL: it has none, or
 * the record is too short for it. */
const void *gpu_part_behind(const struct rec_gpu *g, enum gpu_flag what);

#endif
