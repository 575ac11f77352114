/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launched - how long the GPU worked for each operator that launched something.
 *
 * An annotation's copy on the GPU is work of the annotation, as torch has it.
 *
 * Threads  one at a time.
 * Memory   16 bytes a slice, and 8 an operator while it is made; none without work on a
 *          device; launched_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds that stay at their ends; doubles of microseconds.
 */
#ifndef REPORT_FIGURES_LAUNCHED_H
#define REPORT_FIGURES_LAUNCHED_H

#include "report/model.h"

struct launched {
	int64_t *ns; /* by slice; NULL = no work on a device */
	double *us; /* as torch adds it up */
};

bool launched_make(struct launched *l, const struct model *m);
void launched_free(struct launched *l);

#endif
