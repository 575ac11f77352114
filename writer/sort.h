/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort - a merge sort: stable, no recursion, no bad case for a hostile spool to find,
 * and quick on what is in order already.
 *
 * Threads  any.
 * Memory   a map as large as the array, for as long as it takes.
 * Errors   -ENOMEM: the array is as it was.
 * Units    elements of `each` bytes.
 */
#ifndef WRITER_SORT_H
#define WRITER_SORT_H

#include <stdbool.h>
#include <stddef.h>

/* before(a, b): a must come before b. */
int sort_merge(void *array, size_t n, size_t each,
	       bool (*before)(const void *a, const void *b));

#endif
