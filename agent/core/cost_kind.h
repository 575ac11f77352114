/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost_kind - what of our own work is timed, as a window's descriptor has it.
 *
 * Threads  sums are atomic.
 * Memory   in struct cycle_info.
 * Errors   none.
 * Units    ticks.
 */
#ifndef CORE_COST_KIND_H
#define CORE_COST_KIND_H

#include <stdatomic.h>
#include <stdint.h>

/* What costs the program's threads time (core/cost.h). */
enum cost_kind {
	COST_OP, /* one in COST_EVERY is timed of these */
	COST_NOTE,
	COST_MEMORY,
	COST_ALLOC,
	COST_FREE,
	COST_MODULE,
	COST_FUNCTION,
	COST_PAUSE,
	COST_C_CALL,
	COST_WHOLE, /* all are timed from here on: */
	COST_SAMPLE = COST_WHOLE, /* malloc = sample: blocks that are samples */
	COST_CALL, /* CUDA calls, where hooks record them or their stacks */
	COST_PASS, /* a malloc and its free that record nothing: timed in a loop */
	COST_KINDS
};
#define COST_EVERY 64 /* events, on average */

struct cost_sum {
	_Atomic uint64_t ticks, samples;
};

#endif
