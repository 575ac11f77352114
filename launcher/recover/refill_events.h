/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refill_events - a file's events, rewritten so that allocations name their new call
 * site.
 *
 * Threads  one.
 * Memory   malloc, given back by refill_events_close.
 * Errors   a line that the writer does not write so passes as it is.
 * Units    bytes.
 */
#ifndef LAUNCHER_RECOVER_REFILL_EVENTS_H
#define LAUNCHER_RECOVER_REFILL_EVENTS_H

#include "launcher/recover/span.h"

#define REFILL_LINE 8192 /* no allocation's line is longer */

struct refill_events {
	void (*put)(void *arg, const char *text, size_t len);
	void *arg;
	struct span *frame, *stack; /* of the object "heap", by number */
	size_t frames, stacks;
	char line[REFILL_LINE]; /* a line that is not whole yet */
	size_t used;
	bool passing; /* in the middle of a line that passes */
};

/* `heap`: the new object. false: no memory, or it has no stacks. */
bool refill_events_open(struct refill_events *e, struct span heap);
/* Takes the file's text behind that object, in pieces of any size; then call
 * refill_events_last. */
void refill_events_text(struct refill_events *e, const char *text, size_t len);
/* Is there nothing to change in the text? Then it counts as passed, and the caller writes
 * it. */
bool refill_events_pass(struct refill_events *e, const char *text, size_t len);
void refill_events_last(struct refill_events *e);
void refill_events_close(struct refill_events *e);

#endif
