/* SPDX-License-Identifier: Apache-2.0 */
/*
 * told - the profile function of a thread, as its state has it, and who exchanges it.
 *
 * While the interpreter tells us of calls it also tells of the end of the call of
 * sys.setprofile in which a program's function comes: that is a return without a call,
 * which nobody would be told of without us. So that function is put there a moment
 * later, behind the end.
 *
 * Threads  told_watch, told_leave: any, the first with the interpreter's lock. The
 *          others: each for its own state, with it.
 * Memory   static.
 * Errors   false: the interpreter lacks what is needed.
 * Units    none.
 */
#ifndef PYTHON_TOLD_H
#define PYTHON_TOLD_H

#include "agent/python/interpreter.h"

/* What a profile function is told (Include/cpython/pystate.h). */
enum { TOLD_CALL, TOLD_RETURN = 3, TOLD_C_CALL, TOLD_C_EXCEPTION, TOLD_C_RETURN };

typedef int told_function(void *self, void *frame, int what, void *argument);

struct told_listener {
	/* Will the end of a call that begins now, of the function with this row, be told?
	 */
	bool (*will)(const void *state, const void *row);
	/* The thread's function has been exchanged: is that the end of ours? */
	bool (*changed)(const void *state);
};

bool told_find(void); /* looks up the interpreter's functions */
void told_watch(const struct told_listener *to);
void told_leave(void);
unsigned told_at(void); /* where a state has it; the trace function follows */
told_function *told_of(const void *state);
void told_put(void *state, told_function *to);

#endif
