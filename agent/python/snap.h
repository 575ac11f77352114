/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snap - the Python stack of an operator or annotation that begins.
 *
 * Threads  each for itself, between emit_enter and emit_leave.  Hot path.
 * Memory   the thread's last stack (last.h).
 * Errors   0: no Python here, or no room (counted in the window).
 * Units    an id as stacks.h has them.
 */
#ifndef PYTHON_SNAP_H
#define PYTHON_SNAP_H

#include "agent/core/record_stack.h"
#include "agent/core/thread.h"
#include "agent/python/interpreter.h"

/* The stack's id. `op`: the record that it is for. *flags gets OP_STACK, and OP_SHARES
 * where an operator of this thread is open and no Python code has run since that one
 * began. */
uint32_t snap_stack(struct thread *t, const struct record *op, enum record_kind kind,
		    uint8_t *flags);
/* Puts it behind the record, which has room for it. Returns the flags. */
uint8_t snap_put(struct thread *t, struct rec_op *op, enum record_kind kind);
/* The record that the last stack was put behind is made anew: nothing is inside of it. */
void snap_undo(struct thread *t, const struct record *op);

#endif
