/* SPDX-License-Identifier: Apache-2.0 */
/*
 * difference_view - two runs beside each other, in one format.
 *
 * Threads  one at a time.
 * Memory   that of its tables, meanwhile.
 * Errors   false: not enough memory.
 * Units    of csv and json: microseconds, bytes; p from 0 to 1.
 */
#ifndef REPORT_VIEW_DIFFERENCE_VIEW_H
#define REPORT_VIEW_DIFFERENCE_VIEW_H

#include "report/compare/difference.h"
#include "report/view/screen.h"
#include "report/view/view.h"

/* `limit`: rows of each table, for people; 0 = the view's own. */
bool difference_view_print(const struct difference *d, enum view_format format,
			   size_t limit, const struct screen *to);

#endif
