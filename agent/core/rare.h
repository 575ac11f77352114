/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rare - what of our own work on the program's threads is seldom, and may take long: a
 * page, a chunk, a step's end, a tree of modules, a start, an exit. Each is timed.
 *
 * Threads  any, each for itself; sums are atomic. What our own threads do is not counted.
 * Memory   the sum lies here until rare_take.
 * Errors   none; errno is kept.
 * Units    ns of the wall; rare_ticks in ticks.
 */
#ifndef CORE_RARE_H
#define CORE_RARE_H

#include <stdint.h>

/* One stretch of such work; it may lie within another. */
struct rare {
	uint64_t begin;
	int64_t clock_ns;
};
void rare_begin(struct rare *r);
void rare_end(const struct rare *r);
/* Takes the sum since the last call, for its caller to add: to a window when that ends,
 * else to the spool's head. */
uint64_t rare_take(void);

/* Ticks of the calling thread's rare work, all together: code that times something around
 * such work subtracts them. */
extern __thread uint64_t rare_ticks __attribute__((tls_model("initial-exec")));

#endif
