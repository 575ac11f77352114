/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shift - by how much one sample lies above another, and how sure that is.
 *
 * The shift is Hodges and Lehmann's: the median of all differences b - a. Its interval of
 * 95 % and p are Mann and Whitney's: exact up to 25 values a side without ties, else by
 * the normal distribution with ties corrected. Ranks decide, so that one slow step does
 * not. The values of a sample are taken to be independent.
 *
 * Threads  one at a time.
 * Memory   16 MB while it works, freed.
 * Errors   false: not enough memory.
 * Units    those of the values; p from 0 to 1.
 */
#ifndef REPORT_COMPARE_SHIFT_H
#define REPORT_COMPARE_SHIFT_H

#include <stdbool.h>
#include <stddef.h>

#define SHIFT_MOST 1000u /* values of a side that count: of more, these evenly chosen */

struct shift {
	double a, b; /* medians */
	double by, low, high; /* the shift, and the interval around it */
	double p; /* that there is no shift, two-sided */
	bool interval; /* low and high are known: else there are too few values */
	size_t a_n, b_n; /* values that counted */
};

/* Both have at least one value, in any order; they are left as they are. */
bool shift_make(struct shift *s, const double *a, size_t a_n, const double *b,
		size_t b_n);
/* p[i] becomes its value after Benjamini and Hochberg, for n tests at once. False: not
 * enough memory. */
bool shift_adjust(double *p, size_t n);

#endif
