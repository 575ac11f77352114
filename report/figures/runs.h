/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runs - sorts rows that are in order in a few long runs, as slices are: each thread's
 * and each stream's are.
 *
 * Threads  any.
 * Memory   another array of the same size while it sorts; without it qsort does.
 * Errors   none.
 * Units    bytes.
 */
#ifndef REPORT_FIGURES_RUNS_H
#define REPORT_FIGURES_RUNS_H

#include <stddef.h>

void runs_sort(void *rows, size_t n, size_t each,
	       int (*compare)(const void *, const void *));

#endif
