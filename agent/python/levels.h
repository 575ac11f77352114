/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levels - the frames that a thread is in, and the record of each.
 *
 * Threads  each for itself, between emit_enter and emit_leave.  Hot path.
 * Memory   about 100 KB of address space for each thread (track.h).
 * Errors   none.
 * Units    ticks.
 */
#ifndef PYTHON_LEVELS_H
#define PYTHON_LEVELS_H

#include "agent/core/record_function.h"
#include "agent/core/thread.h"
#include "agent/python/track.h"
#include "agent/python/walk.h"

#define LEVEL_TIMED ((uintptr_t)1) /* a bit of a record's address */

struct level {
	const void *frame, *code; /* compared alone */
	uintptr_t record; /* 0: none could be had */
};
struct levels { /* of a thread */
	uint64_t cycle;
	uint32_t tid; /* whose it is: a state is used again */
	unsigned n;
	unsigned beyond; /* calls that lie deeper than there is room for */
	uint64_t last; /* when a call ended */
	struct level level[TRACK_LEVELS];
};

static inline bool levels_are_current(const struct levels *k, const struct thread *t,
				      uint64_t cycle)
{
	return k && k->cycle == cycle && k->tid == t->tid;
}

/* Those above the nth have returned, and nobody has told of it: at `now` at the latest.
 */
void levels_end(struct levels *k, unsigned n, uint64_t now);
/* Leaves those that are callers of the frame, or the frame itself. */
void levels_find_caller(struct levels *k, const void *frame);
/* The frame ends: those above it have returned unseen, or it has no level. */
void levels_end_below(struct levels *k, const void *frame, uint64_t now);

static inline struct record *level_record(const struct level *v)
{
	return (struct record *)(v->record & ~LEVEL_TIMED);
}

static inline bool level_is(const struct level *v, const struct python_layout *l,
			    const void *frame)
{
	return v->frame == frame && v->code == walk_code(l, frame);
}

static inline void levels_settle(struct levels *k, const void *caller)
{
	if (k->beyond)
		return;
	if (!k->n || !caller ||
	    (k->level[k->n - 1].frame != caller ||
	     !level_is(&k->level[k->n - 1], interpreter.layout, caller)))
		levels_find_caller(k, caller);
}

#endif
