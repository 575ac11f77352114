/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_event - an event as JSON again, and what decides whether it stays.
 *
 * Threads  one at a time.
 * Memory   the text's.
 * Errors   the parser's and the text's own.
 * Units    nanoseconds.
 */
#ifndef REPORT_EXPORT_REWRITE_EVENT_H
#define REPORT_EXPORT_REWRITE_EVENT_H

#include "report/export/json_piece.h"
#include "report/parse.h"

#define REWRITE_TEXT_MOST 256u /* bytes of a row's name that are compared */

struct rewrite_row { /* "pid" or "tid" */
	int64_t number;
	char text[REWRITE_TEXT_MOST]; /* where it is a text; "" = it is a number */
};

struct rewrite_event {
	char ph;
	bool has_ts;
	char name[64]; /* its beginning */
	struct rewrite_row pid, tid;
	int64_t ts, dur; /* as the file has them */
	int64_t external, correlation, id; /* 0 = none */
	uint64_t flow; /* of "cat" and "id" together */
};

struct rewrite_moves { /* of a trace that lies beside others */
	unsigned part; /* 0: the first, of which nothing is moved */
	int64_t ids, shift; /* what is added to ids and times */
	const char *label; /* stands behind names of processes; NULL = nothing */
	int64_t most; /* the largest id that was written; the caller keeps it */
};

/* Copies the rest of an object whose first token was taken. */
void rewrite_event_copy(struct json_piece *t, struct parse *p, struct rewrite_event *e,
			struct rewrite_moves *moves);

#endif
