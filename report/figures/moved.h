/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moved - how many bytes of tensors came and went in an interval of time, on any thread.
 *
 * Both ends of an interval are in it. What lies in no interval that was asked about is
 * known afterwards: torch has rows of their own for it.
 *
 * Threads  one at a time.
 * Memory   24 bytes a memory event; moved_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds; bytes, signed.
 */
#ifndef REPORT_FIGURES_MOVED_H
#define REPORT_FIGURES_MOVED_H

#include "report/model.h"

struct moved_bytes {
	int64_t cpu, device;
};

struct moved {
	const struct model *m;
	struct moved_bytes *before; /* by memory event: of all that are earlier */
	int64_t *covering; /* how many more intervals begin at an event than end before it
			    */
	size_t at; /* where the last interval began */
};

bool moved_make(struct moved *d, const struct model *m);
void moved_free(struct moved *d);

/* Intervals that begin soon after the last one's beginning are found soon. */
struct moved_bytes moved_within(struct moved *d, int64_t begin, int64_t end);
struct moved_bytes moved_by(const struct model *m, const struct memory_event *e);
/* Calls `take` for each event that is in no interval, and for each request that failed.
 */
bool moved_apart(const struct moved *d,
		 bool (*take)(void *arg, const struct memory_event *e), void *arg);

#endif
