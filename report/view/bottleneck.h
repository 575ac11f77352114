/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bottleneck - one trace in the tables of torch.utils.bottleneck: in what it ran,
 * functions of Python as pstats prints them, operators as torch does, and what makes
 * these doubtful.
 *
 * The tables are of the whole file, and their numbers those of `export --pstats` and of
 * `report --view ops --like-torch`.
 *
 * Threads  one at a time.
 * Memory   of functions while they are counted, then the subject's; all freed.
 * Errors   false with a line in `why`: not enough memory, or the file is no trace.
 * Units    none.
 */
#ifndef REPORT_VIEW_BOTTLENECK_H
#define REPORT_VIEW_BOTTLENECK_H

#include "report/view/screen.h"
#include "report/view/setting.h"

struct bottleneck_order {
	size_t limit; /* rows of each table */
	struct setting setting;
	const char *choice; /* which trace of several it is; NULL = there is one */
	bool no_gpu; /* its work was not asked for */
};

bool bottleneck_print(const char *path, const struct bottleneck_order *o,
		      const struct screen *to, char *why, size_t size);

#endif
