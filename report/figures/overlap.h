/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overlap - how much of each step computes, communicates, or does both, as the plugin's
 * distributed view has it.
 *
 * Computation is kernels that are no communication, or, where there are none, operators
 * and annotations on the host. Nothing is taken off for what else was busy.
 *
 * Threads  one at a time.
 * Memory   24 bytes a step; while it is made up to 32 bytes a slice; overlap_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds.
 */
#ifndef REPORT_FIGURES_OVERLAP_H
#define REPORT_FIGURES_OVERLAP_H

#include "report/figures/spans.h"
#include "report/figures/steps.h"

struct overlap {
	struct overlap_step {
		int64_t computation, communication, both;
	} * step; /* by row of the steps */
	struct spans computation, communication;
	bool kernels; /* computation is kernels */
};

bool overlap_make(struct overlap *o, const struct model *m, const struct steps *s);
void overlap_free(struct overlap *o);

#endif
