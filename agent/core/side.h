/* SPDX-License-Identifier: Apache-2.0 */
/*
 * side - records that do not come from the thread they are about: the GPU's.
 *
 * Threads  one at a time (the CUPTI consumer).
 * Memory   CHUNK_CUDA chunks of the cycle, records back to back, no REC_THREAD. The
 *          cycle's cuda_state is CUDA_PENDING as long as a side of it is in use.
 * Errors   NULL: no room under the cap; counted in the cycle's own descriptor.
 * Units    bytes, multiples of 8.
 */
#ifndef CORE_SIDE_H
#define CORE_SIDE_H

#include "agent/core/spool.h"

struct side {
	struct cycle_info *info; /* whose records these are */
	struct chunk *chunk; /* NULL = none yet */
	uint8_t *at, *limit;
	uint32_t chunks;
};

/* Room for a record, not yet visible. */
void *side_reserve(struct side *s, enum record_kind kind, uint32_t size);
/* Publishes it; fills kind, flags and units. */
void side_commit(struct side *s, struct record *r, enum record_kind kind, uint8_t flags,
		 uint32_t size);
void side_count(struct side *s, enum cuda_count what, uint64_t n);

#endif
