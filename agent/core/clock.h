/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock - ticks while recording, nanoseconds when writing.  Hot path.
 *
 * Threads  clock_ticks: any.  clock_start*, clock_sample: one at a time.
 * Memory   none of its own; triples are stored in the spool header.
 * Errors   none: without an invariant counter ticks are CLOCK_MONOTONIC_RAW ns.
 * Units    ticks; clock_line_ns gives epoch nanoseconds.
 */
#ifndef CORE_CLOCK_H
#define CORE_CLOCK_H

#include "agent/core/spool.h"
#include "base/sys.h"

enum clock_kind { CLOCK_NS, CLOCK_TSC, CLOCK_UNKNOWN /* in a question alone */ };
extern uint64_t clock_kind; /* set by clock_start, then constant */

static inline uint64_t clock_tsc(void) /* where clock_kind is CLOCK_TSC */
{
#if defined __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

static inline uint64_t clock_ticks(void)
{
	if (__builtin_expect(clock_kind == CLOCK_TSC, 1))
		return clock_tsc();
	return (uint64_t)sys_clock_ns(CLOCK_MONOTONIC_RAW);
}

/* Decides on clock_kind, and takes the process's first triple: asks the kernel, by a
 * file. */
void clock_start(void);
/* The same as another process of this machine has decided; CLOCK_UNKNOWN: nobody has. */
void clock_start_as(uint64_t kind);
/* A new spool's first triples: the process's start, and now. */
void clock_begin(struct spool_header *head);
/* Stores a triple in the spool header (thinning old ones); the keeper, each second. */
void clock_sample(struct spool_header *head);
/* The same at a window's edge, if no triple was stored in the last millisecond. */
void clock_edge(struct spool_header *head);
/*
 * One window's clock: epoch ns as a straight line in ticks, from one moment to
 * another. Windows that follow each other share the moment between them.
 */
struct clock_line {
	uint64_t ticks;
	int64_t ns, end_ns; /* at both moments, to the nanosecond */
	double per_tick;
};
struct clock_line clock_line_at(const struct spool_header *head, uint64_t begin,
				uint64_t end);
static inline int64_t clock_line_ns(const struct clock_line *line, uint64_t ticks)
{
	return line->ns +
	       (int64_t)((double)(int64_t)(ticks - line->ticks) * line->per_tick);
}
/* Best guess of ticks per second so far; for estimates only. */
double clock_rate(const struct spool_header *head);

#endif
