/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile - what each step of a run took, in all and by operator and kernel.
 *
 * A run is one trace file or more: windows of the same program. Each value is a sum over
 * one step, so that steps can be compared as samples. Rows have names, not places: equal
 * names are one row.
 *
 * Threads  one at a time.
 * Memory   8 bytes a row and step, 256 MiB at most, each name once; of a file, while it
 * is read, up to 130 bytes a slice; profile_free. Errors   false with a line in `why`.
 * Units    nanoseconds; bytes.
 */
#ifndef REPORT_COMPARE_PROFILE_H
#define REPORT_COMPARE_PROFILE_H

#include "report/figures/steps.h"

enum profile_kind {
	PROFILE_STEP, /* one row: the steps' lengths */
	PROFILE_SHARE, /* a row for each share of a step */
	PROFILE_HOST, /* operators' own time on the host */
	PROFILE_GPU, /* kernels', copies' and sets' time */
	PROFILE_PEAK, /* a row for each device: the most that was allocated in the step */
	PROFILE_KINDS,
};

struct profile_row {
	double *value; /* one for each step up to n; behind them all are 0 */
	size_t n, room;
};

struct profile {
	struct texts names; /* a character for the kind, then the name; numbers of rows */
	struct profile_row *rows;
	size_t rows_n, rows_room, values; /* values: in all rows */
	uint32_t *window; /* of each step: the number of its file */
	size_t steps_n, window_room, windows_n;
	bool unmarked; /* some file has no steps of its own */
	uint64_t dropped; /* records that are missing */
	bool damaged; /* part of some file could not be read */
	char torch[64], gpu[96], script[128]; /* of the first file that says so */
	char stage[HEAD_STAGE]; /* likewise; "" = none */
};

/* An empty profile. */
void profile_start(struct profile *p);
/* Adds all steps of a trace file. */
bool profile_add(struct profile *p, const char *path, char *why, size_t size);
void profile_free(struct profile *p);

/* The row of that kind and name; NULL = there is none. */
const struct profile_row *profile_find(const struct profile *p, enum profile_kind kind,
				       const char *name);

static inline enum profile_kind profile_kind(const struct profile *p, size_t row)
{
	return (enum profile_kind)(*texts_get(&p->names, (uint32_t)row) - 'a');
}

static inline const char *profile_name(const struct profile *p, size_t row)
{
	return texts_get(&p->names, (uint32_t)row) + 1;
}

static inline double profile_value(const struct profile_row *r, size_t step)
{
	return r && step < r->n ? r->value[step] : 0;
}

#endif
