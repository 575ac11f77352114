/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rare - what of our own work on the program's threads is seldom, and may take long: a
 * page, a chunk, a step's end, a start, an exit. Each is timed.
 *
 * Threads  any, each for itself; sums are atomic. What our own threads do is not counted.
 * Memory   the sum lies here until rare_take.
 * Errors   none; errno is kept.
 * Units    ns of the wall; rare_ticks in ticks.
 */
#ifndef CORE_RARE_H
#define CORE_RARE_H

#include <stdint.h>

/* One may lie in another. */
struct rare {
	uint64_t begin;
	int64_t clock_ns;
};
void rare_begin(struct rare *r);
void rare_end(const struct rare *r);
/* All since it was last asked, to be added where it belongs: to a window when that ends,
 * else to the spool's head. */
uint64_t rare_take(void);

/* The calling thread's, all together: who times what they lie in does without them. */
extern __thread uint64_t rare_ticks __attribute__((tls_model("initial-exec")));

#endif
