/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_work - one record of CUPTI's to one of ours.
 *
 * Threads  the consumer.
 * Memory   the record is made on the stack, then copied to where it belongs.
 * Errors   none: what is wrong with a record is counted in its window.
 * Units    ns of CUPTI's clock.
 */
#ifndef CUPTI_FLOW_DECODE_WORK_H
#define CUPTI_FLOW_DECODE_WORK_H

#include "agent/cupti/flow/place.h"

#include <string.h>

/* A record of `size` bytes, all zero but its kind: what a field does not get is not
 * known, and no byte of the stack goes into a file. */
static inline void decode_start(struct made *m, enum record_kind kind, uint32_t size)
{
	memset(&m->u, 0, size);
	m->size = size;
	m->u.r.kind = (uint8_t)kind;
}

static inline void decode_append(struct made *m, enum gpu_flag flag, const void *what,
				 uint32_t size)
{
	memcpy((uint8_t *)&m->u + m->size, what, size);
	m->size += size;
	m->u.r.flags |= (uint8_t)flag;
}

/* One record of CUPTI's each, as long as layout_stride says; it goes to correlation_work.
 * `peer`: a copy between two devices, KIND_MEMCPY2. */
void decode_kernel(const uint8_t *p);
void decode_copy(const uint8_t *p, bool peer);
void decode_set(const uint8_t *p);
void decode_graph(const uint8_t *p);

#endif
