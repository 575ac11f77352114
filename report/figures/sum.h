/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sum - sums of times and sizes that stay at their ends, and sums of doubles as Python
 * has them.
 *
 * torch counts in doubles of microseconds: what its tables print of a time in the middle
 * between two hangs on each rounding. sum() is exact to a double since Python 3.12: it
 * carries what was rounded off (Neumaier's algorithm).
 *
 * Threads  any.
 * Memory   the caller's.
 * Errors   none.
 * Units    the caller's.
 */
#ifndef REPORT_FIGURES_SUM_H
#define REPORT_FIGURES_SUM_H

#include <math.h>
#include <stdint.h>

static inline void sum_add(int64_t *to, int64_t n)
{
	if (__builtin_add_overflow(*to, n, to))
		*to = n < 0 ? INT64_MIN : INT64_MAX;
}

static inline void sum_take(int64_t *from, int64_t n)
{
	if (__builtin_sub_overflow(*from, n, from))
		*from = n < 0 ? INT64_MAX : INT64_MIN;
}

/* a - b, or the end that it is beyond. */
static inline int64_t sum_minus(int64_t a, int64_t b)
{
	sum_take(&a, b);
	return a;
}

struct python_sum {
	double sum, carry;
};

static inline void python_sum_add(struct python_sum *s, double x)
{
	double sum = s->sum + x;

	s->carry += fabs(s->sum) >= fabs(x) ? s->sum - sum + x : x - sum + s->sum;
	s->sum = sum;
}

static inline double python_sum_of(const struct python_sum *s)
{
	return s->sum + s->carry;
}

#endif
