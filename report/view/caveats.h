/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caveats - what is to be known before the tables of a bottleneck are believed.
 *
 * Threads  one at a time.
 * Memory   a byte a thread, meanwhile.
 * Errors   none.
 * Units    none.
 */
#ifndef REPORT_VIEW_CAVEATS_H
#define REPORT_VIEW_CAVEATS_H

#include "report/figures/callers.h"
#include "report/view/screen.h"
#include "report/view/subject.h"

struct caveats {
	const struct subject *s;
	const struct callers *functions;
	const uint32_t *order; /* pstats_table_order: the functions that are shown ... */
	size_t shown; /* ... and how many at most */
	const char *choice; /* which trace of several it is; NULL = there is one */
};

void caveats_print(const struct caveats *c, const struct screen *to);

#endif
