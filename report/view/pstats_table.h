/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pstats_table - functions of Python as pstats prints them: sort_stats("tottime"), then
 * print_stats(limit).
 *
 * Bytes that a terminal would obey become '?'.
 *
 * Threads  one at a time.
 * Memory   the order of the rows, and names; free them.
 * Errors   NULL: not enough memory.
 * Units    seconds in the table.
 */
#ifndef REPORT_VIEW_PSTATS_TABLE_H
#define REPORT_VIEW_PSTATS_TABLE_H

#include "report/figures/callers.h"
#include "report/view/screen.h"

/* The rows by their own time, the largest first; equal ones stay in order, as pstats
 * leaves them. */
uint32_t *pstats_table_order(const struct callers *c);
void pstats_table_print(const struct callers *c, const uint32_t *order, size_t limit,
			const struct screen *to);
/* "train.py:12(step)", "{built-in method mm of Tensor object}"; free it. */
char *pstats_table_name(const struct callers *c, uint32_t row);

#endif
