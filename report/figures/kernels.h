/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels - a row for each kernel, copy and set, by name, as the plugin's kernel view.
 *
 * Threads  one at a time.
 * Memory   88 bytes a row; kernels_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds; bytes; occupancy in percent.
 */
#ifndef REPORT_FIGURES_KERNELS_H
#define REPORT_FIGURES_KERNELS_H

#include "report/figures/devices.h"

struct kernel_figures {
	uint32_t name; /* a text of the model */
	uint32_t op; /* of the operator that launched most of it; TEXT_NONE = not known */
	uint8_t sort; /* enum slice_sort */
	bool tensor_cores;
	uint64_t count;
	int64_t total, least, most;
	int64_t bytes; /* of copies and sets; -1 = not said */
	double blocks_per_sm, occupancy; /* means, weighted by time; below 0 = not said */
};

struct kernels {
	struct kernel_figures *row; /* by total */
	size_t n, room;
	int64_t total; /* over all rows */
};

bool kernels_make(struct kernels *k, const struct model *m, int64_t from, int64_t to);
void kernels_free(struct kernels *k);

#endif
