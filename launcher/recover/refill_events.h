/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refill_events - the events of a file, in which allocations name their call site anew.
 *
 * Threads  one.
 * Memory   malloc, given back by refill_events_close.
 * Errors   what is not as the writer writes it passes as it is.
 * Units    bytes.
 */
#ifndef LAUNCHER_RECOVER_REFILL_EVENTS_H
#define LAUNCHER_RECOVER_REFILL_EVENTS_H

#include "launcher/recover/span.h"

#define REFILL_LINE 8192 /* no allocation's is longer */

struct refill_events {
	void (*put)(void *arg, const char *text, size_t len);
	void *arg;
	struct span *frame, *stack; /* of the object "heap", by number */
	size_t frames, stacks;
	char line[REFILL_LINE]; /* one that is not whole yet */
	size_t used;
	bool passing; /* in the middle of a longer one */
};

/* `heap`: the object as it will be. false: no memory, or it has no stacks. */
bool refill_events_open(struct refill_events *e, struct span heap);
/* The file's text behind that object, in pieces of any size; then `last`. */
void refill_events_text(struct refill_events *e, const char *text, size_t len);
/* Is there nothing to change in it? Then it counts as passed, and is put by nobody. */
bool refill_events_pass(struct refill_events *e, const char *text, size_t len);
void refill_events_last(struct refill_events *e);
void refill_events_close(struct refill_events *e);

#endif
