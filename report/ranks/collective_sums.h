/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective_sums - a row for each name of a rank's collectives, as the plugin's table.
 *
 * Threads  one at a time.
 * Memory   48 bytes a row, and 4 a collective meanwhile; collective_sums_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds, bytes.
 */
#ifndef REPORT_RANKS_COLLECTIVE_SUMS_H
#define REPORT_RANKS_COLLECTIVE_SUMS_H

#include "report/ranks/ranks.h"

struct collective_sum {
	uint32_t name; /* a text of the ranks */
	uint64_t calls;
	int64_t bytes; /* -1 = not known of all */
	int64_t time, transfer; /* each moment once */
};

struct collective_sums {
	struct collective_sum *row; /* by time */
	size_t n, room;
};

bool collective_sums_make(struct collective_sums *s, const struct rank *r);
void collective_sums_free(struct collective_sums *s);

#endif
