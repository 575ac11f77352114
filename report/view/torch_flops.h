/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_flops - the column "Total FLOPs" of torch's table, "Total GFLOPs", ...: its unit
 * is that of the least number. Numbers that torch has no formula for are left out.
 *
 * Threads  any.
 * Memory   the caller's.
 * Errors   none.
 * Units    floating-point operations.
 */
#ifndef REPORT_VIEW_TORCH_FLOPS_H
#define REPORT_VIEW_TORCH_FLOPS_H

#include "report/figures/operators.h"

#include <stdio.h>

struct torch_flops {
	double scale; /* 0 = there is no column */
	const char *head;
};

struct torch_flops torch_flops_column(const struct model *m, const struct operators *o);
/* Writes a cell of a column with `width` characters, below 0: at its left. */
void torch_flops_put(FILE *out, const struct torch_flops *column, int64_t flops,
		     int width);

#endif
