/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_gpu - what the GPU did: kernels, copies, sets, graphs; the GPUs, their clock.
 *
 * Threads  none: plain data.
 * Memory   in CHUNK_CUDA chunks of the cycle of the *launching call*, written by the
 *          CUPTI consumer (core/gpu_chunk.h); estimated kernels (GPU_ESTIMATE) in the
 *          chunk of the thread that measured them (emit.h).
 * Errors   as record.h.
 * Units    r.begin and r.end are CUPTI nanoseconds (the epoch, as CUPTI's clock tells
 *          it), ticks with GPU_ESTIMATE. REC_MOMENT ties the two clocks together: the
 *          writer places everything by it.
 */
#ifndef CORE_RECORD_GPU_H
#define CORE_RECORD_GPU_H

#include "agent/core/record.h"

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

_Static_assert(sizeof(struct rec_gpu) == 40, "GPU work");
_Static_assert(sizeof(struct rec_kernel) == 72, "a kernel");

#endif
