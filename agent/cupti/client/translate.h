/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate - where in a record what differs for the client lies, and how it differs.
 *
 * Threads  any; a lock for a few stores.
 * Memory   static.
 * Errors   NULL or false: nothing is known of it.
 * Units    ns of CUPTI's clock; the client's ticks when it has a clock of its own.
 */
#ifndef CUPTI_CLIENT_TRANSLATE_H
#define CUPTI_CLIENT_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shape {
	uint8_t kind;
	uint8_t correlation; /* offsets; 0 = none */
	uint8_t thread;
	uint8_t object; /* what it is about, if that is a thread */
	bool gpu; /* times are the GPU's: when it was asked for is told by its call */
	uint8_t time[5];
};
const struct shape *translate_of(uint32_t kind); /* NULL: nothing is known of it */

/* The client's clock: NULL = CUPTI's own. */
#define SHAPE_MOMENTS 64u
struct translate_clocks {
	struct shape_moment {
		uint64_t ns, theirs;
	} at[SHAPE_MOMENTS];
	unsigned n;
};
void translate_clock(uint64_t (*clock)(void));
void translate_sample(void); /* both clocks, now */
bool translate_clocks(struct translate_clocks *c); /* as known now; false: CUPTI's own */
/* Makes of a record what the client would see: its clock, its kind of thread id. `record`
 * is a copy. */
void translate_record(uint8_t *record, size_t size, const struct translate_clocks *c,
		      bool pthreads);
void translate_forget(void);

#endif
