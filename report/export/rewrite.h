/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite - trace files as one valid trace file, token by token.
 *
 * Members, arguments and the digits of numbers stay as they are. What is no JSON, but
 * found in traces, is mended: raw control characters and bytes that are no UTF-8, NaN (as
 * null), a bare array of events, an end that is missing. Members behind the events go to
 * the end of the file. Of several traces the members are those of the first; the others'
 * processes, ids and times are moved so that they can lie beside it.
 *
 * Threads  one at a time.
 * Memory   an event or a member, at most JSON_PIECE_MOST.
 * Errors   false with a line in `why`; what was written can still be ended.
 * Units    nanoseconds.
 */
#ifndef REPORT_EXPORT_REWRITE_H
#define REPORT_EXPORT_REWRITE_H

#include "report/export/rewrite_event.h"

#include <stdio.h>

struct rewrite_order {
	/* Does the event stay? NULL: all do. */
	bool (*keep)(void *arg, const struct rewrite_event *e);
	void *arg;
	const char *member; /* a member of our own, "\"key\":value"; NULL = none */
	const char *label; /* of a trace beside others: whose it is; NULL = alone */
};

struct rewrite {
	FILE *out; /* NULL: events are only shown to `keep` */
	struct json_piece text, tail;
	bool begun; /* members may follow */
	bool listed; /* the list of events is open */
	bool some; /* an event was written */
	const char *broken; /* the last trace: why only what is before broken_at was
			       taken; NULL = it is whole */
	uint64_t broken_at;
	bool adrift; /* the last trace, or the first, does not say when it began: it lies
			at its own times */
	unsigned traces;
	int64_t base, most; /* the first trace's time; the largest id so far */
};

void rewrite_begin(struct rewrite *w, FILE *out);
bool rewrite_trace(struct rewrite *w, const char *path, const struct rewrite_order *o,
		   char *why, size_t size);
/* Ends the file, and frees all. False: there was no list of events. */
bool rewrite_end(struct rewrite *w);

#endif
