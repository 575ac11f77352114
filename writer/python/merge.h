/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge - the native stack and Python's of one moment as one, in the order in which they
 * called each other.
 *
 * The interpreter's loop is a native frame, and Python's frames are what it executes. C
 * that calls Python begins the loop anew: the first frame that this loop executes is
 * marked (STACK_ENTRY), and those inside of it run in the same loop.
 *
 *   native, innermost first      Python              merged
 *   alloc                                            alloc
 *   loop                         key   (marked)      key
 *   list_sort                                        list_sort
 *   loop                         inner               inner
 *                                outer (marked)      outer
 *   main                                             main
 *
 * Threads  any.
 * Memory   the caller's.
 * Errors   none: a merge that is not possible says why.
 * Units    frames, innermost first.
 */
#ifndef WRITER_PYTHON_MERGE_H
#define WRITER_PYTHON_MERGE_H

#include "agent/core/stack_pair.h"
#include "writer/symbols/symbols.h"

enum merge_how {
	MERGE_NOT, /* there are no two stacks */
	MERGE_DONE,
	MERGE_CUT, /* one of them lacks its outer frames */
	MERGE_UNFIT, /* the loops are not those of Python's frames */
	MERGE_HOWS
};

struct merge_frame {
	struct stack_frame frame;
	bool python;
};

struct merge {
	enum merge_how how;
	unsigned natives, pythons, n;
	struct stack_frame native[STACKS_MOST], python[STACKS_MOST];
	struct merge_frame frame[2 * STACKS_MOST]; /* n of them, if it was done */
};

/* Reads both stacks, as far as `most` frames of each (0: all), and merges them if that is
 * possible. */
void merge_stacks(struct merge *m, const struct spool_view *v, const struct symbols *s,
		  struct stack_pair pair, unsigned most);

#endif
