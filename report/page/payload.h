/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payload - all that a page knows of a run, as JSON: every view's rows and the heads of
 * the timeline, whose slices are bytes beside it (columns.h).
 *
 * "report" is what `proflaunch report --format json` prints, without its largest tables:
 * these are among "views".
 *
 * Threads  one at a time.
 * Memory   that of its parts, until it returns.
 * Errors   false: not enough memory.
 * Units    microseconds, bytes; shares from 0 to 1.
 */
#ifndef REPORT_PAGE_PAYLOAD_H
#define REPORT_PAGE_PAYLOAD_H

#include "report/page/columns.h"

bool payload_print(struct subject *s, const char *title, const struct excerpt *excerpt,
		   const struct columns *columns, FILE *out);

#endif
