/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites - the heap part of proflaunch's trace files: how much each call site allocated.
 *
 * Threads  one at a time.
 * Memory   sites_free frees all; texts lie in the `texts` that were given.
 * Errors   a missing member is 0, TEXT_NONE or SITE_NONE; a number that points nowhere is
 *          made SITE_NONE by sites_check, which must be called before use.
 * Units    bytes, nanoseconds as events have them.
 */
#ifndef REPORT_MEMORY_SITES_H
#define REPORT_MEMORY_SITES_H

#include "report/parse.h"
#include "report/texts.h"

#define SITE_NONE UINT32_MAX

struct site {
	uint32_t stack; /* SITE_NONE = not known */
	uint32_t op, call, python; /* texts; python: "Call stack" */
	int64_t allocs, bytes, frees, freed, live, blocks, peak, max;
	size_t steps; /* where in steps_pool its live bytes at the steps' ends begin */
};

struct sites {
	uint32_t mode, since; /* texts */
	int64_t sample_bytes;
	bool weighted, symbols;
	int64_t peak_ts, peak_bytes, peak_step, end_bytes,
		end_blocks; /* peak_step -1 = none */
	int64_t allocs, bytes, frees, freed, foreign_frees;
	/* How many stacks were walked, how many in both ways, and what went wrong with
	 * them. */
	int64_t walks, checked, disagreed, cut, ended, unknown;
	int64_t *steps, *steps_pool;
	size_t steps_n, steps_room, pool_n, pool_room;
	uint32_t *frames; /* texts */
	size_t frames_n, frames_room;
	uint32_t *stack_at; /* where in stack_pool a stack begins; one more than there are
			     */
	uint32_t *stack_pool; /* frames, innermost first */
	size_t stacks_n, stack_at_room, stack_pool_n, stack_pool_room;
	struct site *rows;
	size_t rows_n, rows_room;
	struct site other; /* sums of the sites that have no row */
	int64_t other_sites;
};

/* Reads the value whose key was just read. NULL: it is no object. */
struct sites *sites_read(struct parse *p, struct texts *texts, bool *enough);
void sites_check(struct sites *s);
/* `s` may be NULL. */
void sites_free(struct sites *s);
/* Live bytes of a site at the end of step i, where 0 is the window's first step. */
int64_t sites_at_step(const struct sites *s, const struct site *site, size_t i);

#endif
