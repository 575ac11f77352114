/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict - does something hold in the step of median length, and in two thirds of all?
 *
 * Threads  one at a time.
 * Memory   f->scratch is overwritten.
 * Errors   none.
 * Units    nanoseconds; shares of a step's length, from 0 to 1.
 */
#ifndef REPORT_ADVICE_VERDICT_H
#define REPORT_ADVICE_VERDICT_H

#include "report/advice/facts.h"

enum bound { BOUND_ABOVE, BOUND_AT_LEAST, BOUND_BELOW };

struct verdict {
	bool holds;
	size_t held; /* steps */
	int64_t median; /* of f->time */
	double least, most; /* shares, of the steps in which it holds */
};

/* Judges f->time against so many percent of each step's length. */
struct verdict verdict_of(struct facts *f, enum bound bound, unsigned percent);
/* "in each of 6 steps (29 to 37 %)" */
const char *verdict_steps(const struct facts *f, const struct verdict *v);
/* Do two thirds of the judged steps, or more? */
static inline bool verdict_enough(const struct facts *f, size_t held)
{
	return held && held >= f->n - f->n / 3;
}

#endif
