/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args - members of a GPU event's "args", each with a comma behind it.
 *
 * Threads  one at a time.
 * Memory   the texts of the last kernel shapes, in struct cuda.kernel.
 * Errors   none of its own: a member that the record does not tell is left out.
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

struct kernel_shape { /* how a kernel is launched, often many times */
	uint32_t grid[3];
	uint16_t block[3], registers;
	uint32_t static_shared, dynamic_shared, device;
};

struct kernel_slot { /* ... and the text that is written for it */
	struct kernel_shape shape;
	uint32_t len; /* 0 = empty */
	char text[KERNEL_TEXT];
};

/* Writes registers, shared memory, grid, block and, where the device is known, the
 * load. */
void gpu_put_shape(struct trace *t, const struct rec_kernel *k);
/* Writes the graph and its node; nothing for work outside of graphs. */
void gpu_put_graph(struct json *j, const struct rec_gpu *g);
/* Writes the hardware queue; nothing where CUPTI does not tell its type. */
void gpu_put_channel(struct json *j, const struct rec_gpu *g, uint32_t channel);
/* Writes nothing where the work took no time at all. */
void gpu_put_bandwidth(struct json *j, uint64_t bytes, int64_t ns);
/* A CUpti_ActivityMemoryKind in Kineto's words; "Unknown" for any other number. */
const char *gpu_memory_name(unsigned kind);
/* The struct gpu_graph, gpu_latency or gpu_peer behind the record; NULL: the record has
 * none, or is too short for it. */
const void *gpu_part_behind(const struct rec_gpu *g, enum gpu_flag what);

#endif
