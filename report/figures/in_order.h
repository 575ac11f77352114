/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_order - the slices of all threads by their beginning, the longer first.
 *
 * Threads  one at a time.
 * Memory   8 bytes a thread; in_order_end.
 * Errors   false: not enough memory.
 * Units    rows of the model's slices.
 */
#ifndef REPORT_FIGURES_IN_ORDER_H
#define REPORT_FIGURES_IN_ORDER_H

#include "report/model.h"

struct in_order {
	const struct model *m;
	struct in_order_thread {
		uint32_t at, last; /* its next slice, and the one behind its last */
	} * heap; /* the earliest on top */
	size_t n, room;
};

bool in_order_begin(struct in_order *o, const struct model *m);
/* The next slice; NO_ROW: there is none. */
uint32_t in_order_next(struct in_order *o);
void in_order_end(struct in_order *o);

#endif
