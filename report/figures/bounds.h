/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bounds - where each step begins and ends, with the GPU work that it launched.
 *
 * Threads  one at a time.
 * Memory   24 bytes a step; while they are made 8 bytes a call and a piece of GPU work;
 *          bounds_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds.
 */
#ifndef REPORT_FIGURES_BOUNDS_H
#define REPORT_FIGURES_BOUNDS_H

#include "report/model.h"

struct bounds {
	struct step *row; /* by time */
	size_t n, left_out; /* left_out: incomplete ones at the end */
};

bool bounds_make(struct bounds *b, const struct model *m);
void bounds_free(struct bounds *b);

#endif
