/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices - how well each GPU was used from the first step to the last.
 *
 * The definitions are those of the plugin's GPU summary (docs/report.md): utilization is
 * the share of time in which a kernel ran, copies and sets apart; SM efficiency the mean
 * over time of min(1, blocks per SM of what ran); occupancy the mean over kernels' time.
 * All numbers are of that time. The model must have been read with WANT_DETAILS.
 *
 * Threads  one at a time.
 * Memory   while they are made up to 64 bytes a piece of GPU work; devices_free.
 * Errors   false: not enough memory.
 * Units    shares from 0 to 1; nanoseconds.
 */
#ifndef REPORT_FIGURES_DEVICES_H
#define REPORT_FIGURES_DEVICES_H

#include "report/figures/steps.h"

struct device_figures {
	int64_t id;
	const struct gpu *gpu; /* NULL = the file does not describe it */
	uint64_t kernels, copies, sets;
	int64_t busy; /* any kernel was running */
	int64_t kernel_time; /* sum over kernels */
	int64_t tensor_cores; /* ... of those that use tensor cores, by their names */
	double utilization, sm_efficiency, occupancy; /* below 0 = cannot be said */
};

struct devices {
	struct device_figures *row; /* by number; only those that ran something */
	size_t n, room;
};

bool devices_make(struct devices *d, const struct model *m, const struct steps *s);
void devices_free(struct devices *d);

#endif
