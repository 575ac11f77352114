/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joined - a trace with all that rows of an export say of a slice: how deep it lies, its
 * step, the operator that launched it, and its times as the report has them.
 *
 * A slice is an "event" where the report counts it by itself: see event_tree.h. Of an
 * annotation and of what runs on a device there are rows of their own, as JOINED_* say.
 *
 * Threads  one at a time.
 * Memory   the model's, and 32 bytes a slice; joined_free.
 * Errors   false with a line in `why`; there is nothing to free then.
 * Units    nanoseconds.
 */
#ifndef REPORT_EXPORT_JOINED_H
#define REPORT_EXPORT_JOINED_H

#include "report/figures/launches.h"
#include "report/figures/steps.h"

enum joined_event {
	JOINED_NONE,
	JOINED_HOST, /* operators, calls, functions of Python */
	JOINED_NOTE,
	JOINED_DEVICE,
	JOINED_DEVICE_NOTE,
};

struct joined_row {
	int64_t self, device, self_device; /* of an event */
	uint32_t depth; /* 0: nothing is around it */
	uint8_t event; /* enum joined_event */
};

struct joined {
	const char *path; /* the caller's */
	struct model model;
	struct steps steps;
	struct launches launches;
	struct joined_row *row; /* by slice */
	int64_t from, to; /* the report counts what begins in [from, to) */
};

bool joined_make(struct joined *j, const char *path, char *why, size_t size);
void joined_free(struct joined *j);

/* The row of `steps` in which a moment lies; NULL = in none that is marked. */
const struct step_figures *joined_step(const struct joined *j, int64_t ts);
/* "cpu_op", "kernel", ...: torch's word, whatever the file has. */
const char *joined_category(const struct slice *s);
/* The stage of the run that the trace is of; NULL = none. */
const char *joined_stage(const struct joined *j);
/* The operator that launched a kernel, a copy or a set; NO_ROW = not known. */
uint32_t joined_op(const struct joined *j, uint32_t slice);

static inline bool joined_counts(const struct joined *j, int64_t ts)
{
	return ts >= j->from && ts < j->to;
}

#endif
