/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust - what makes a trace's numbers doubtful, and what was not recorded.
 *
 * Threads  one at a time.
 * Memory   lines of fixed size.
 * Errors   none.
 * Units    none.
 */
#ifndef REPORT_VIEW_TRUST_H
#define REPORT_VIEW_TRUST_H

#include "report/view/screen.h"
#include "report/view/subject.h"

struct trust {
	char doubt[8][256]; /* whole sentences, to stand before all advice */
	unsigned doubts;
	struct {
		const char *what, *record; /* "input shapes", "--record-shapes" */
	} absent[8];
	unsigned absents;
};

void trust_make(struct trust *t, const struct subject *s);
/* Prints the doubts, and an empty line below them. */
void trust_print(const struct trust *t, const struct screen *to);
/* Is that advice one of the doubts? */
bool trust_says(const struct subject *s, const struct advice *a);
/* What our recording cost, as a share of the window; below 0: not said. */
double trust_overhead(const struct model *m);

#endif
