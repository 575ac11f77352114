/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_order - sorts rows of tables that are nearly in order, and large.
 *
 * Rows are sorted by their numbers, in passes that merge neighbours which are in order,
 * and then each row is moved once. Equal rows keep their order.
 *
 * Threads  one at a time.
 * Memory   8 bytes a row meanwhile; none where the rows are in order.
 * Errors   false: there is not enough, and the rows are as they were.
 * Units    none.
 */
#ifndef REPORT_ROW_ORDER_H
#define REPORT_ROW_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Compares two rows, as qsort's functions do. */
typedef int row_order_compare(const void *a, const void *b);

struct row_order {
	void *rows;
	size_t n, each; /* n below UINT32_MAX; each: bytes of a row, at most 256 */
	row_order_compare *compare;
	/* Where in a row its group is, a uint32_t below `groups`, by which `compare`
	 * goes first. groups 0: rows have none. */
	size_t group_at, groups;
};

bool row_order_sort(const struct row_order *o);

#endif
