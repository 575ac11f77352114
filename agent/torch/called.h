/* SPDX-License-Identifier: Apache-2.0 */
/*
 * called - who called an operator or annotation: Python's stack and the native one of the
 *          same moment, behind its record.
 *
 * Threads  each for itself, between emit_enter and emit_leave.  Hot path.
 * Memory   the record's, which has room for struct op_stack.
 * Errors   an id that is 0: none is wanted or known, or there was no room (counted in the
 *          window).
 * Units    ids as stacks.h has them.
 */
#ifndef TORCH_CALLED_H
#define TORCH_CALLED_H

#include "agent/core/emit.h"
#include "agent/python/snap.h"
#include "config/config.h"

/* The last operator of a thread that has got a native stack: those inside of it get none.
 */
struct called {
	const struct record *around;
	uint64_t cycle;
	uint32_t tid; /* a thread's state is used again */
};

bool called_start(const struct config *config); /* are native stacks wanted? */
/* Puts both stacks, where native ones are wanted; returns flags. */
uint8_t called_put(struct thread *t, struct called *c, struct rec_op *op,
		   enum record_kind kind);
/* The record that the last stacks were put behind is made anew. */
void called_undo(struct thread *t, struct called *c, const struct rec_op *op);

#endif
