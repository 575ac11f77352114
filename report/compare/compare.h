/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare - two runs of a program, step against step: what takes longer, and is it sure?
 *
 * Each name of both is a row, with the shift of its sums per step. Rows are tested
 * together: `sure` is after Benjamini and Hochberg at 5 %. Where both sides have several
 * windows, their medians are compared as well, and an interval is the wider of both:
 * steps of one window are not independent.
 *
 * Threads  one at a time.
 * Memory   144 bytes a row; names lie in the profiles. compare_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds or bytes, as the profiles have them.
 */
#ifndef REPORT_COMPARE_COMPARE_H
#define REPORT_COMPARE_COMPARE_H

#include "report/compare/profile.h"
#include "report/compare/shift.h"

/* Rows below this part of both sides' median step are counted only. */
#define COMPARE_LEAST 0.005

struct compare_row {
	const char *name;
	enum profile_kind kind;
	bool in_a, in_b;
	struct shift shift;
	double p; /* adjusted for all rows of its kind */
	bool sure; /* the interval leaves out 0, and p is below 5 % */
};

struct compare {
	struct compare_row step;
	struct compare_row *row; /* by kind, then by the size of the shift */
	size_t n, room;
	size_t small[PROFILE_KINDS]; /* rows that were only counted */
};

bool compare_make(struct compare *c, const struct profile *a, const struct profile *b);
void compare_free(struct compare *c);
/* A single row, by any values: NULL stands for zeros. */
bool compare_values(struct shift *s, const struct profile *a, const struct profile_row *x,
		    const struct profile *b, const struct profile_row *y);

#endif
