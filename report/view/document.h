/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document - all that is known of a trace as one JSON object, for programs.
 *
 * "schema" is 1; no member is taken away or changes its meaning while it is. Members that
 * a reader does not know may be added. What is not known is null.
 *
 * Threads  one at a time.
 * Memory   that of its tables, meanwhile.
 * Errors   false: not enough memory.
 * Units    microseconds; bytes; shares from 0 to 1.
 */
#ifndef REPORT_VIEW_DOCUMENT_H
#define REPORT_VIEW_DOCUMENT_H

#include "report/view/rows.h"

struct document_order {
	const char *sort; /* a column of operators; NULL = as they are */
	size_t limit; /* rows of operators and kernels; TABLE_ALL */
};

bool document_print(struct subject *s, const struct document_order *order, FILE *out);

#endif
