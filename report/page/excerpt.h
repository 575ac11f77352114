/* SPDX-License-Identifier: Apache-2.0 */
/*
 * excerpt - which slices a page's timeline has, where the trace has more than a browser
 * likes.
 *
 * Whole steps stay, with all that begins in them: the median one, the slowest, then the
 * first ones, as many as fit. A step that is too long alone is cut at a moment. Never is
 * it a sample of slices: what the eye sees is what happened.
 *
 * Threads  one at a time.
 * Memory   a byte a step, 8 a slice while it is made; excerpt_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds.
 */
#ifndef REPORT_PAGE_EXCERPT_H
#define REPORT_PAGE_EXCERPT_H

#include "report/view/subject.h"

struct excerpt {
	const struct subject *subject;
	bool *step; /* of each row of the subject's steps: it stays; NULL = all slices do
		     */
	size_t steps; /* that stay */
	int64_t until; /* what begins then, or later, does not stay */
	uint64_t slices; /* in the trace */
};

bool excerpt_make(struct excerpt *c, const struct subject *s, size_t limit);
void excerpt_free(struct excerpt *c);
bool excerpt_keeps(const struct excerpt *c, const struct slice *slice);

#endif
