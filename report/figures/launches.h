/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launches - which operator launched a kernel, a copy or a set: the one that has the same
 * "External id".
 *
 * Threads  one at a time.
 * Memory   8 bytes an operator; launches_free.
 * Errors   false: not enough memory.
 * Units    none.
 */
#ifndef REPORT_FIGURES_LAUNCHES_H
#define REPORT_FIGURES_LAUNCHES_H

#include "report/model.h"

struct launches {
	struct launch {
		uint32_t external, slice;
	} * rows; /* by number */
	size_t n, room;
};

bool launches_make(struct launches *l, const struct model *m);
void launches_free(struct launches *l);
/* NO_ROW: the file does not say. */
uint32_t launches_op(const struct launches *l, const struct slice *device);
uint32_t launches_numbered(const struct launches *l, uint32_t external);

#endif
