/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_event - one event of a trace file, token by token; and the reader of the file.
 *
 * Threads  one at a time.
 * Memory   texts that are kept go to the visitor's.
 * Errors   false: the event breaks off, or there is no memory (`full`).
 * Units    nanoseconds.
 */
#ifndef REPORT_READ_EVENT_H
#define REPORT_READ_EVENT_H

#include "report/dims.h"
#include "report/read.h"

struct reader {
	const struct read_visitor *v;
	struct parse *p;
	struct event e;
	struct dims dims; /* the list that is being read */
	int64_t elements; /* of the first input; -1 = not a tensor */
	unsigned element; /* size of its element; 0 = not known */
	bool full; /* not enough memory */
	bool list; /* the file has an array of events */
	uint64_t events; /* that the visitor got */
	struct damage damage;
};

/* The size of an element of that dtype; 0: it is not known. */
unsigned read_event_element(const char *text, size_t len);
/* An event without any member. */
void read_event_begin(struct reader *r);
/* Reads an event behind its opening brace, whole. */
bool read_event_take(struct reader *r);
/* Gives the event to the visitor. */
void read_event_give(struct reader *r);

#endif
