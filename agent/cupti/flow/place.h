/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place - a record of ours, made of one of CUPTI's, into the window that it belongs to.
 *
 * Threads  the consumer.
 * Memory   the record is made on the stack, then copied to where it belongs.
 * Errors   none: what is wrong with a record's times is counted in its window.
 * Units    ns of CUPTI's clock.
 */
#ifndef CUPTI_FLOW_PLACE_H
#define CUPTI_FLOW_PLACE_H

#include "agent/core/record_cuda.h"
#include "agent/core/record_gpu.h"
#include "agent/cupti/flow/windows.h"

/* Times further from their window cannot be: but work may end long after its window. */
#define PLACE_OUTSIDE_NS 5000000000ull
extern uint64_t place_latest; /* no time of what is decoded now may be later */

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

/* Writes a record, its kind and flags set, into a window after the last checks. */
void place_record(struct window *w, const struct made *m);

#endif
