/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cut - which events of a trace stay when steps or threads are cut out of it.
 *
 * On the host an event stays that lies in the steps, or around them, or inside of one
 * that began there. Work on a device stays where its call or operator does, or where it
 * runs during the steps; its arrows where both ends stay. Marks of other steps go. What
 * the recording says of itself stays.
 *
 * Threads  one at a time.
 * Memory   the model's, 24 bytes a thread and up to 8 a slice; cut_free.
 * Errors   false with a line in `why`; there is nothing to free then.
 * Units    nanoseconds.
 */
#ifndef REPORT_EXPORT_CUT_H
#define REPORT_EXPORT_CUT_H

#include "report/export/rewrite_event.h"
#include "report/figures/steps.h"

struct cut_options {
	int64_t first, last; /* steps by number; all: INT64_MIN, INT64_MAX */
	const char **threads; /* names or numbers */
	size_t threads_n; /* 0 = all */
};

struct cut_numbers { /* a set */
	uint32_t *row; /* sorted */
	size_t n, room;
};

struct cut {
	struct model model;
	struct steps steps; /* those that stay */
	bool by_steps, by_threads;
	int64_t from, to; /* of the steps, as the report has them */
	int64_t low; /* where the first is marked: with GPU work it begins later */
	struct cut_row {
		bool device, listed;
		int64_t until; /* what began in the steps is over */
	} * rows; /* by the model's threads */
	uint32_t *order; /* threads, by pid and tid */
	struct cut_numbers external, correlation; /* of what stays on the host */
};

/* Is there anything to cut? */
static inline bool cut_is_wanted(const struct cut_options *o)
{
	return o->first != INT64_MIN || o->last != INT64_MAX || o->threads_n;
}

bool cut_make(struct cut *c, const char *path, const struct cut_options *o, char *why,
	      size_t size);
void cut_free(struct cut *c);
bool cut_keeps(const struct cut *c, const struct rewrite_event *e);
/* What the cut's file says of its steps (report/kept.h); free it. NULL: no memory. */
char *cut_member(const struct cut *c);

#endif
