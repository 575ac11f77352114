/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline - tensor memory of one device over time, in torch's memory-timeline formats.
 *
 * The name's end tells the format: .html a page, .raw.json.gz and .raw.json rows of
 * [time_ns, action, bytes, category], other .json[.gz] [times_us, sizes by category].
 *
 * Threads  one at a time.
 * Memory   40 bytes a change while it writes.
 * Errors   0, or -1 with a line in `why`.
 * Units    nanoseconds since 1970, bytes.
 */
#ifndef REPORT_MEMORY_TIMELINE_H
#define REPORT_MEMORY_TIMELINE_H

#include "report/memory/memory.h"

enum timeline_action {
	TIMELINE_PREEXISTING = 1,
	TIMELINE_CREATE = 2,
	TIMELINE_DESTROY = 4,
};

struct timeline_row {
	int64_t ts; /* -1 = before the window */
	int64_t bytes; /* negative for a free */
	uint8_t action, category;
};

struct timeline {
	const struct memory_view *view;
	const struct memory_space *space;
	struct timeline_row *rows; /* by time */
	size_t n, room;
};

/* Makes the rows of the space's allocations and frees; memory older than the window comes
 * first, at -1. free(t->rows). False: not enough memory. */
bool timeline_rows(struct timeline *t);
/* Writes to `out`, a file, in the format that the end of `path` says. device NULL: the
 * one with the highest peak. */
int timeline_write(const struct memory_view *v, const char *device, const char *path,
		   FILE *out, char *why, size_t size);

/* Writes the page. */
void timeline_html(const struct timeline *t, FILE *out);

#endif
