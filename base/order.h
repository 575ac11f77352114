/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order - what qsort and its like want to be told: by one number, then by the next.
 *
 * Threads  any.
 * Memory   none.
 * Errors   none.
 * Units    none.
 */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

#include <stdint.h>

/* Below 0: a comes first. */
static inline int order_of(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

#endif
