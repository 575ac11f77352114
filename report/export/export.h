/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export - stacks out of trace files, for flame graphs: torch's lines, folded stacks, or
 * a file for speedscope.
 *
 * Threads  one at a time.
 * Memory   of a file, while it is read, up to 130 bytes a slice; after it only distinct
 *          stacks. export_end frees all.
 * Errors   false, or a line in `why`. `out` has its own: see ferror.
 * Units    microseconds; bytes.
 */
#ifndef REPORT_EXPORT_EXPORT_H
#define REPORT_EXPORT_EXPORT_H

#include "report/damage.h"
#include "report/export/speedscope.h"

enum export_format {
	EXPORT_STACKS, /* a line for each event, as torch's export_stacks */
	EXPORT_FOLDED,
	EXPORT_SPEEDSCOPE,
};

enum export_by {
	EXPORT_CPU,
	EXPORT_CUDA,
	EXPORT_ALLOCATED,
	EXPORT_LIVE,
};

struct export
{
	enum export_format format;
	enum export_by by;
	FILE *out;
	struct fold fold;
	struct speedscope speedscope;
};

/* What a file has of what was asked for. */
struct export_found {
	bool seen; /* it has slices, kernels or memory ... */
	bool values; /* ... and some are no 0: something was exported */
	bool stacks; /* slices with a stack of Python; or there are no slices */
	struct damage damage; /* of the file */
};

void export_begin(struct export *x, enum export_format format, enum export_by by,
		  FILE *out);
/* Reads a trace; torch's lines are written at once. */
bool export_add(struct export *x, const char *path, struct export_found *found, char *why,
		size_t size);
/* Writes the rest, unless nothing was added, and frees all. False: not enough memory. */
bool export_end(struct export *x, bool write);

#endif
