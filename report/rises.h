/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rises - how a level moves from one stretch of steps to the next.
 *
 * A stretch's low-water mark stands for it: memory that comes and goes within it is not
 * seen.
 *
 * Threads  one at a time.
 * Memory   40 kB of its own, static; the caller's.
 * Errors   none.
 * Units    bytes; bytes a step.
 */
#ifndef REPORT_RISES_H
#define REPORT_RISES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RISES_MOST 1000u

struct rises {
	double lows[RISES_MOST]; /* n + 1 */
	double by[RISES_MOST]; /* from one mark to the next */
	size_t n;
	size_t b; /* steps of a stretch */
	size_t from; /* the first step of the first stretch */
	double sum, squares; /* of `by` */
	double ups, falls; /* sums of rises and of falls, both above 0 */
};

/* Makes stretches of `b` steps, which end with the last of n levels and begin at `from`
 * or after it. */
void rises_find(struct rises *r, const int64_t *level, size_t n, size_t from, size_t b);
double rises_slope(const struct rises *r);
/* The slope's lower bound, by a sign test. */
double rises_low(const struct rises *r);
/* Theil and Sen's slope. */
double rises_middle(const struct rises *r);
/* Are the last `tail` rises, `sum` in all, smaller (way 1) or larger (-1) than the
 * others, by more than chance? */
bool rises_differ(const struct rises *r, size_t tail, double sum, int way);
/* The square root; 0 for less than 0. */
double rises_root(double n);
/* For qsort, of doubles. */
int rises_by_size(const void *a, const void *b);

#endif
