/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_table - the table that torch prints for key_averages().table(), byte for byte.
 *
 * It is that of torch 2.13 under Python 3.12 or later, whose sum() rounds less. Columns
 * of what a file does not hold (node ids, overload names; FLOPs in torch's own files) are
 * left out; source locations are there where operators are grouped by them, and bytes
 * that a terminal would obey are '?'. Not as torch's are: CUPTI's overhead, which has no
 * row; a call outside of any operator on another thread than that which stopped the
 * profiler, which torch takes for one of the latter's; events that end on another thread;
 * names that Kineto did not write as they are.
 *
 * The model has to be read with all kinds of slices and WANT_DETAILS.
 *
 * Threads  one at a time.
 * Memory   8 bytes a row while it prints.
 * Errors   false: not enough memory, or `sort_by` is none of torch's.
 * Units    columns of the terminal.
 */
#ifndef REPORT_VIEW_TORCH_TABLE_H
#define REPORT_VIEW_TORCH_TABLE_H

#include "report/figures/operators.h"

#include <stdio.h>

struct torch_table_options {
	const char *sort_by; /* NULL = by the first event, as torch without sort_by */
	int64_t row_limit; /* below 0 = all */
	size_t name_width,
		shapes_width; /* at most: 0 = as wide as the longest, else 4 or more */
};

#define TORCH_TABLE_OPTIONS          \
	(struct torch_table_options) \
	{                            \
		NULL, 100, 55, 80    \
	}

/* Is it a key of torch's, in any spelling: "self_cuda_time_total", "count"? */
bool torch_table_knows(const char *sort_by);
/* Prints nothing for no rows, as torch does. */
bool torch_table_print(FILE *out, const struct model *m, const struct operators *o,
		       const struct torch_table_options *options);

#endif
