/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glance - a report in three lines: a step, what to fix first, the largest operator.
 *
 * Threads  one at a time.
 * Memory   none of its own.
 * Errors   none.
 * Units    none.
 */
#ifndef REPORT_VIEW_GLANCE_H
#define REPORT_VIEW_GLANCE_H

#include "report/view/subject.h"

/* Plain text, each line ended; none where there is nothing to tell. */
void glance_print(const struct subject *s, FILE *out);

#endif
