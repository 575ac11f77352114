/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pause - the record of what Python waits for.
 *
 * Threads  each for itself; errno is kept.
 * Memory   struct pause is the caller's.
 * Errors   no record: there is no window, or no room, which is counted.
 * Units    ticks.
 */
#ifndef PYTHON_PAUSE_H
#define PYTHON_PAUSE_H

#include "agent/core/cost.h"
#include "agent/core/record_python.h"

#include <stdbool.h>

struct pause {
	struct rec_python *record; /* NULL: none */
	uint64_t cycle;
	bool timed;
};

/* `of`: the generation of a collection, the name of an import. It begins now. */
void pause_begin(struct pause *p, enum pause_kind kind, uint32_t of);
/* It has begun at `begin`, since when this thread has made no record, and ends at `end`,
 * or later: then pause_end says so. */
void pause_whole(struct pause *p, enum pause_kind kind, uint64_t begin, uint64_t end);
struct pause_found {
	uint8_t flags;
	uint32_t uncollectable;
	uint64_t collected;
};
/* Around what we do for the begin: a sample of it is timed. */
struct pause_cost {
	bool timed;
	struct cost_span span;
};
struct pause_cost pause_cost_begin(void);
void pause_cost_end(const struct pause_cost *c, struct pause *p);
void pause_end(const struct pause *p, uint64_t now, const struct pause_found *found);

#endif
