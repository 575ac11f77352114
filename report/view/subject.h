/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subject - the trace that is reported, with all figures that views show.
 *
 * Threads  one at a time.
 * Memory   the model's and the figures'; subject_free. It must not be moved meanwhile.
 * Errors   false with a line in `why`; there is nothing to free then.
 * Units    nanoseconds.
 */
#ifndef REPORT_VIEW_SUBJECT_H
#define REPORT_VIEW_SUBJECT_H

#include "report/advice/evidence.h"
#include "report/ranks/ranks.h"
#include "report/view/group.h"

struct subject_options {
	enum operators_by by;
	int64_t first, last; /* steps by number; all: INT64_MIN, INT64_MAX */
	bool whole; /* operators of the whole file, not of the steps alone */
	struct group_options group; /* with OPERATORS_BY_GROUP */
};

struct subject {
	const char *path;
	struct model model;
	struct steps steps; /* those that were asked for */
	struct devices devices;
	struct operators operators; /* by name */
	struct operators shown; /* as they were asked for */
	struct kernels kernels;
	struct evidence evidence;
	struct advices advices;
	const struct ranks *ranks; /* the caller's, of the run; NULL = this file alone */
	struct ranks own; /* this file as a rank, where a view wanted it */
	int64_t from, to; /* what begins in [from, to) counts */
};

bool subject_make(struct subject *s, const char *path, const struct subject_options *o,
		  char *why, size_t size);
void subject_free(struct subject *s);

/* All ranks that are known: this one at least. NULL: not enough memory. */
const struct ranks *subject_ranks(struct subject *s);

/* Says so; false. */
bool subject_no_memory(const struct subject *s, char *why, size_t size);
/* A number for a step; of one step, and of a trace without any, the number itself. */
int64_t subject_per_step(const struct subject *s, int64_t all);
/* How far steps are from their mean, as the standard deviation of a sample; 0 for one. */
int64_t subject_deviation(const struct subject *s);
/* The GPU's name, or "GPU 0". */
const char *subject_gpu(const struct subject *s, const struct device_figures *d, char *to,
			size_t size);

#endif
