/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_chunk - records that do not come from the thread they are about: the GPU's.
 *
 * Threads  one at a time (the CUPTI consumer).
 * Memory   CHUNK_CUDA chunks of the cycle, records back to back, no REC_THREAD. The
 *          cycle's cuda_state is CUDA_PENDING as long as a struct side of the cycle is in
 *          use.
 * Errors   NULL: no room under the cap; counted in the cycle's own descriptor.
 * Units    bytes, multiples of 8.
 */
#ifndef CORE_GPU_CHUNK_H
#define CORE_GPU_CHUNK_H

#include "agent/core/chunk.h"

struct side {
	struct cycle_info *info; /* the window whose records these are */
	struct chunk *chunk;
	uint8_t *at, *limit; /* of the chunk; both NULL = none yet */
	uint32_t chunks;
};

void *gpu_chunk_refill(struct side *s, enum record_kind kind, uint32_t size);

/* Room for a record, not yet visible. */
static inline void *side_reserve(struct side *s, enum record_kind kind, uint32_t size)
{
	return (size_t)(s->limit - s->at) >= size ? s->at
						  : gpu_chunk_refill(s, kind, size);
}

/* Publishes the record; fills kind, flags and units. */
static inline void side_commit(struct side *s, struct record *r, enum record_kind kind,
			       uint8_t flags, uint32_t size)
{
	record_mark(r, kind, flags, size);
	s->at += size;
	atomic_store_explicit(&s->chunk->used, (uint32_t)(s->at - (uint8_t *)s->chunk),
			      memory_order_release);
}

void gpu_chunk_count(struct side *s, enum cuda_count what, uint64_t n);

#endif
