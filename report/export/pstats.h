/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pstats - functions of Python as a file of cProfile's, which pstats and snakeviz read.
 *
 * It is a dictionary of (file, line, name): (primitive calls, calls, own time, total
 * time, callers), where callers are a dictionary of the same keys with (calls, primitive
 * calls, own time, total time), in this order. What has no file is ("~", 0, name).
 *
 * Threads  one at a time.
 * Memory   of a trace, while it is added, up to 130 bytes a slice; after it only
 * functions and who called them. pstats_end frees all. Errors   false with a line in
 * `why`. `out` has its own: see ferror. Units    seconds in the file.
 */
#ifndef REPORT_EXPORT_PSTATS_H
#define REPORT_EXPORT_PSTATS_H

#include "report/damage.h"
#include "report/export/cut.h"
#include "report/figures/callers.h"

struct pstats {
	struct callers callers;
	const struct cut_options *options; /* whose threads count */
	bool operators; /* they count as functions without a file */
};

struct pstats_found { /* what a trace has */
	bool functions; /* of Python */
	bool any; /* calls were added */
	struct damage damage; /* of the file */
};

bool pstats_add(struct pstats *p, const char *path, struct pstats_found *found, char *why,
		size_t size);
/* Writes the sums, unless nothing was added, and frees all. False: not enough memory. */
bool pstats_end(struct pstats *p, FILE *out);

#endif
