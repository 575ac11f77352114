/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match - which collective of a rank is which of another: of a name in a step, the n-th
 * is the n-th of every rank, if all ranks have as many.
 *
 * Threads  one at a time.
 * Memory   8 bytes a joined collective of a rank; match_free.
 * Errors   false: not enough memory.
 * Units    rows of the ranks' collectives.
 */
#ifndef REPORT_RANKS_MATCH_H
#define REPORT_RANKS_MATCH_H

#include "report/ranks/rank.h"

struct match {
	uint32_t *row; /* `ranks` rows for each joined collective: one of each rank */
	size_t n, room; /* joined ones; rows */
	size_t ranks;
	size_t alone; /* collectives of any rank that some other rank does not have */
};

/* Sets `mates` of collectives, and their `transfer`: the least length of all ranks'. */
bool match_make(struct match *m, struct rank *ranks, size_t n);
void match_free(struct match *m);

static inline const struct collective *match_of(const struct match *m,
						const struct rank *ranks, size_t joined,
						size_t rank)
{
	return &ranks[rank].collectives[m->row[joined * m->ranks + rank]];
}

#endif
