/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pieces - calls of functions and modules on a row on which slices nest: those that an
 * annotation's or a step's edge cuts are written in pieces.
 *
 * An annotation begins and ends in functions (`__enter__`, an optimizer's wrapper) that
 * do not lie in it. And a step ends in the middle of many: of an epoch's function it
 * holds the first part, and others the rest.
 *
 *   step        |----- 3 -----|----- 4 -----|---
 *   function          |----- 1 -----| 2 |            1 and 2 are pieces of one call
 *
 * Threads  one at a time.
 * Memory   56 bytes for each piece, and each call that was there before the window;
 *          pieces_free.
 * Errors   0 or -ENOMEM.
 * Units    ticks.
 */
#ifndef WRITER_PYTHON_PIECES_H
#define WRITER_PYTHON_PIECES_H

#include "agent/core/record_function.h"
#include "writer/read.h"

struct piece {
	const struct record *call;
	uint64_t begin, end; /* end 0: nothing is left of it */
	uint32_t tid;
	bool inside; /* of what begins at the same time */
	bool later; /* another piece of the call came before */
	bool used; /* of one in `rest`: it is long, or something begins in it */
	size_t at; /* of one in `rest`: where, + 1 */
	size_t edge; /* of an open one: the edge around it, + 1 ... */
	size_t around; /* ... and the rest around it, + 1 */
};

struct pieces {
	const struct cycle_read *cycle;
	const struct returned *returned; /* NULL: calls of functions tell of each end */
	uint64_t least; /* a shorter rest is left out if nothing begins in it */
	struct pile entered; /* struct piece: calls from before the window */
	struct pile open; /* struct piece: of the thread that is looked at */
	struct pile first; /* struct piece: those that end sooner, by their calls */
	struct pile rest; /* struct piece: what is written besides, in that order */
	size_t next_entered, next_rest; /* that were not looked at */
};

/* Looks at all records. `least` in ticks. */
int pieces_start(struct pieces *p, const struct cycle_read *c, uint64_t least);
void pieces_free(struct pieces *p);
/* What is to be written before the next record of the thread, or as its first; NULL:
 * nothing is. */
const struct piece *pieces_entered(struct pieces *p, uint32_t tid);
const struct piece *pieces_before(struct pieces *p, uint32_t tid, uint64_t now);
bool pieces_is_call(const struct record *r); /* of Python's, a module's, or of C */
/* Was the record written by pieces_entered? */
bool pieces_is_entered(const struct record *r);
uint64_t pieces_call_end(const struct pieces *p, const struct record *r);
/* Where the first piece of a call ends. */
uint64_t pieces_end(const struct pieces *p, const struct record *r);

#endif
