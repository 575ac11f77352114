/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost - what frequent events cost the program's threads: a sample of each kind is timed.
 *
 * Threads  any, each for itself; sums are atomic.
 * Memory   sums lie in the open window's descriptor.
 * Errors   none; errno is kept.
 * Units    ticks.
 */
#ifndef CORE_COST_H
#define CORE_COST_H

#include "agent/core/clock.h"
#include "agent/core/thread.h"

struct cost_span {
	uint64_t begin, rare; /* rare_ticks at the begin */
};
struct cost_span cost_begin(void);
/* A sample of `kind` is over now; the thread's next sample is drawn. */
void cost_end(struct cost_span s, enum cost_kind kind);
/* Adds to the last sample of `kind` what came later, since `begin`. */
void cost_more(uint64_t begin, enum cost_kind kind);
/* A window is thrown away: what it has cost stays. */
void cost_keep(const struct cycle_info *info);

#endif
