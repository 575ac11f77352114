/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match - which collective of a rank is which of another: of a name and a process group
 * in a step, the n-th is the n-th of every rank of the group, if all have as many. Where
 * the file lists the group's ranks, all of them must be there.
 *
 * Where a file does not say the group it is that of all ranks, unless there are smaller
 * ones: then nobody can tell, and such collectives stay alone.
 *
 * Threads  one at a time.
 * Memory   4 bytes a joined collective and rank, in the group or not; match_free.
 * Errors   false: not enough memory.
 * Units    rows of the ranks' collectives.
 */
#ifndef REPORT_RANKS_MATCH_H
#define REPORT_RANKS_MATCH_H

#include "report/ranks/rank.h"

struct match {
	uint32_t *row; /* `ranks` rows for each joined collective: one of each rank, or
			  NO_ROW where it is not in the group */
	size_t n, room; /* joined ones; rows */
	size_t ranks;
	size_t alone; /* collectives of any rank that are joined to none */
	const struct texts *names; /* the ranks' */
	bool parts; /* there are smaller groups, and files that do not say which */
};

/* Sets `joined` of collectives, and their `transfer`: the least length of their group's.
 */
bool match_make(struct match *m, struct rank *ranks, size_t n, const struct texts *names);
/* Takes all apart again. */
void match_undo(struct match *m, struct rank *ranks);
void match_free(struct match *m);

/* NULL: the rank is not in the group. */
static inline const struct collective *match_of(const struct match *m,
						const struct rank *ranks, size_t joined,
						size_t rank)
{
	uint32_t row = m->row[joined * m->ranks + rank];

	return row == NO_ROW ? NULL : &ranks[rank].collectives[row];
}

#endif
