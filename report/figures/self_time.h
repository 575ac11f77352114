/* SPDX-License-Identifier: Apache-2.0 */
/*
 * self_time - what of a slice's time is not that of a slice inside it.
 *
 * Threads  one at a time.
 * Memory   8 bytes a slice, 17 for torch's and 42 while they are made; free and
 * self_time_free. Errors   NULL or false: not enough memory. Units    nanoseconds.
 */
#ifndef REPORT_FIGURES_SELF_TIME_H
#define REPORT_FIGURES_SELF_TIME_H

#include "report/model.h"

/* The self time of each slice, by the model's nesting; free it. What runs on a device has
 * none. */
int64_t *self_time_make(const struct model *m);

/* Of torch's events (report/figures/event_tree.h). */
struct self_time {
	int64_t *cpu, *device; /* device: what the operator itself launched */
	bool *event;
};

bool self_time_torch(struct self_time *t, const struct model *m);
void self_time_free(struct self_time *t);

#endif
