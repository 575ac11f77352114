/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode - one record of CUPTI's to one of ours.
 *
 * Threads  the consumer.
 * Memory   the record is made on the stack, then copied to where it belongs.
 * Errors   none: what is wrong with a record is counted in its window.
 * Units    ns of CUPTI's clock.
 */
#ifndef CUPTI_DECODE_H
#define CUPTI_DECODE_H

#include "agent/cupti/parts.h"

#include <string.h>

/* Times further away cannot be: but work may end long after its window. */
#define DECODE_OUTSIDE_NS 5000000000ull
extern uint64_t decode_latest; /* no time of what is decoded now may be later */

/* The longest record that there is, and what may follow it. */
struct made {
	union {
		struct record r;
		struct rec_gpu g;
		struct rec_kernel kernel;
		struct rec_copy copy;
		struct rec_set set;
		struct rec_graph graph;
		struct rec_sync sync;
		struct rec_event event;
		struct rec_overhead overhead;
		struct rec_block block;
		uint64_t room[16];
	} u;
	uint32_t size;
};

static inline void decode_start(struct made *m, enum record_kind kind, uint32_t size)
{
	m->size = size;
	m->u.r = (struct record){ .kind = (uint8_t)kind };
}

static inline void decode_append(struct made *m, enum gpu_flag flag, const void *what,
				 uint32_t size)
{
	memcpy((uint8_t *)&m->u + m->size, what, size);
	m->size += size;
	m->u.r.flags |= (uint8_t)flag;
}

void decode_kernel(const uint8_t *p);
void decode_copy(const uint8_t *p, bool peer);
void decode_set(const uint8_t *p);
void decode_graph(const uint8_t *p);

#endif
