/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks - all processes of a distributed program beside one another: who waits for whom.
 *
 * A rank is a straggler where its computation takes more than 1.1 times the median of all
 * ranks', in two thirds of the steps that all of them have.
 *
 * Threads  one at a time.
 * Memory   that of its parts, of one file's model meanwhile; ranks_free.
 * Errors   false with a line in `why`; there is nothing to free then.
 * Units    nanoseconds.
 */
#ifndef REPORT_RANKS_RANKS_H
#define REPORT_RANKS_RANKS_H

#include "report/ranks/clocks.h"

struct rank_verdict { /* means are of a step */
	double step, compute, communication, exposed, waiting, late;
	double factor; /* median over steps of its compute by that of all ranks */
	size_t slow; /* steps in which it was slower than the others */
	bool straggler;
};

struct ranks {
	struct texts names;
	struct rank *row; /* by number */
	struct rank_verdict *verdict; /* of each */
	struct clock_bounds *bounds; /* of each */
	struct match match;
	size_t n;
	bool mixed; /* some were joined wrongly: nothing is, and no clock is put right */
	size_t unaligned; /* joined collectives of ranks whose clocks cannot be compared
			   */
	size_t judged; /* steps that all ranks have */
};

/* Reads a file for each rank. */
bool ranks_read(struct ranks *all, char *const *paths, size_t n, char *why, size_t size);
/* The only rank that is known. False: not enough memory. */
bool ranks_of_one(struct ranks *all, const struct model *m, const struct steps *s);
void ranks_free(struct ranks *all);

#endif
