/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks_view - ranks of a distributed program in one of the formats.
 *
 * Threads  one at a time.
 * Memory   that of its tables, meanwhile.
 * Errors   false: not enough memory; what was written is then not to be shown.
 * Units    as the columns say.
 */
#ifndef REPORT_VIEW_RANKS_VIEW_H
#define REPORT_VIEW_RANKS_VIEW_H

#include "report/ranks/ranks.h"
#include "report/view/screen.h"
#include "report/view/view.h"

bool ranks_view_print(const struct ranks *all, enum view_format format,
		      const struct screen *to);

#endif
