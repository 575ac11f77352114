/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fwdbwd - which forward operator belongs to which backward one.
 *
 * A pair is named by the forward thread and the low 48 bits of the sequence number:
 * the forward operator with the latest start, and the first backward one that ended.
 *
 * Threads  one at a time.
 * Memory   22 bytes for each backward operator with a forward thread; nothing for
 *          the others.  Keys are read from the records themselves.
 * Errors   -ENOMEM.
 * Units    offsets in bytes from the spool's start.
 */
#ifndef WRITER_FWDBWD_H
#define WRITER_FWDBWD_H

#include "writer/read.h"

struct link_pair {
	uint64_t backward, forward; /* offsets of the records; 0 = none */
};

struct links {
	const struct cycle_read *cycle;
	struct link_pair *pairs; /* open addressing */
	size_t slots, bytes;
};

/* Makes both passes over the window's records; `c` must stay as long as the links.
 * fwdbwd_free is due after an error, too. */
int fwdbwd_find(struct links *l, const struct cycle_read *c);
void fwdbwd_free(struct links *l);

enum link_side { LINK_NONE, LINK_START, LINK_END };
/* Which end of a flow the operator at `offset` is; *id is the flow's, also of one that is
 * neither; 0: there is no flow of its number. */
enum link_side fwdbwd_of(const struct links *l, const struct rec_op *op, uint64_t offset,
			 uint32_t thread, uint64_t *id);
/* The forward operator of a backward one with a number; NULL: it is not in the window. */
const struct rec_op *fwdbwd_forward(const struct links *l, const struct rec_op *backward);
/* The backward node right inside an "autograd::engine::evaluate_function: X" whose record
 * the cursor has just passed. NULL: none; the flow goes by the outer node's numbers. */
const struct rec_op *fwdbwd_inner(const struct cursor *c, const struct rec_op *outer);

#endif
