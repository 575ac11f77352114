/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search - where something begins in a sorted array, by halving.
 *
 * Threads  any.
 * Memory   none.
 * Errors   none: a condition that is not false, then true, gives some place.
 * Units    elements.
 */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

#include <stddef.h>

/* The least `i` in [from, n) for which `condition` holds; n: for none. */
#define SEARCH_FIRST(i, from, n, condition)            \
	({                                             \
		size_t i, low_ = (from), high_ = (n);  \
                                                       \
		while (low_ < high_) {                 \
			i = low_ + (high_ - low_) / 2; \
			if (condition)                 \
				high_ = i;             \
			else                           \
				low_ = i + 1;          \
		}                                      \
		low_;                                  \
	})

#endif
