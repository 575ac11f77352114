/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snap - the Python stack of an operator or annotation that begins, of an allocation and
 *        of a CUDA call.
 *
 * A thread's last stack is kept: frames that have not moved keep their ids, so that only
 * the inner ones that are new are stored (stacks.h, codes.h).
 *
 * Threads  each for itself, between emit_enter and emit_leave.  Hot path.
 * Memory   about 25 KB for each thread, from the arena, at its first stack.
 * Errors   0: no Python here, or no room (counted in the window).
 * Units    an id as stacks.h has them.
 */
#ifndef PYTHON_SNAP_H
#define PYTHON_SNAP_H

#include "agent/core/record_stack.h"
#include "agent/core/thread.h"
#include "agent/python/interpreter.h"

#define SNAP_CHECK 97 /* one stack in so many is compared with the interpreter's own */

/* The stack's id. `op`: the record that it is for. *flags gets OP_STACK, and OP_SHARES
 * where an operator of this thread is open and no Python code has run since that one
 * began. */
uint32_t snap_stack(struct thread *t, const struct record *op, enum record_kind kind,
		    uint8_t *flags);
/* Puts it behind the record, which has room for it. Returns the flags. */
uint8_t snap_put(struct thread *t, struct rec_op *op, enum record_kind kind);
/* The id of this native stack together with Python's, where there is one: from within
 * malloc, whatever the interpreter is doing. */
uint32_t snap_pair(struct thread *t, uint32_t native);
/* The same of a call of CUDA; but inside of an operator that has the stack already it is
 * the native one alone. */
uint32_t snap_call(struct thread *t, uint32_t native);
/* The record that the last stack was put behind is made anew: nothing is inside of it. */
void snap_undo(struct thread *t);

#endif
