/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callers - how often each function of Python ran and for how long, and by whom it was
 * called: as cProfile counts, over the threads of any number of traces.
 *
 * A call of a function that runs already is no primitive one: its time is in that of the
 * call around it. The same holds of a function and its caller, for calls by that caller.
 *
 * Threads  one at a time.
 * Memory   40 bytes a function with its name once, 48 a pair of functions; while a trace
 *          is added 16 bytes a slice and 8 a text of it; callers_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds; sums stay at their ends.
 */
#ifndef REPORT_FIGURES_CALLERS_H
#define REPORT_FIGURES_CALLERS_H

#include "report/model.h"

struct call_sums {
	uint64_t calls, primitive;
	int64_t own; /* without the functions inside */
	int64_t total; /* of primitive calls */
};

struct callers_row { /* of a function: its number is that of its name */
	struct call_sums sums;
	uint32_t open; /* calls that are not over, while a trace is added */
};

struct callers_pair { /* of a function and one that it called */
	struct call_sums sums;
	uint32_t caller, callee, open;
};

struct callers {
	struct texts names; /* well-formed UTF-8; "file(line): function" has a line below
			       2^31 without zeros before it */
	struct callers_row *row;
	struct callers_pair *pair;
	size_t n, room, pairs_n, pairs_room;
	uint32_t *slots; /* hash of pairs */
	size_t slots_n;
	uint64_t added; /* calls, so far */
};

/* Adds all slices of a model, each of which is a call. `listed` (or NULL): by thread,
 * whether it counts. Texts are added to the model. */
bool callers_add(struct callers *c, struct model *m, const bool *listed);
void callers_free(struct callers *c);

#endif
