/* SPDX-License-Identifier: Apache-2.0 */
/*
 * median - the middle one of some numbers, or the mean of the two in the middle.
 *
 * Threads  any.
 * Memory   none; median_of sorts the caller's numbers.
 * Errors   none; of no numbers it is 0.
 * Units    those of the numbers.
 */
#ifndef REPORT_FIGURES_MEDIAN_H
#define REPORT_FIGURES_MEDIAN_H

#include <stddef.h>
#include <stdint.h>

int64_t median_of(int64_t *numbers, size_t n);
/* The same of numbers that are sorted already. */
double median_of_sorted(const double *sorted, size_t n);

#endif
