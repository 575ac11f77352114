/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair - the Python stack of an allocation or of a call of CUDA, beside the native one.
 *
 * Threads  each for itself, between emit_enter and emit_leave.  Hot path.
 * Memory   the thread's last stack (last.h).
 * Errors   the native stack's id alone: no Python here, or no room (counted in the
 *          window).
 * Units    ids as stacks.h and stack_pair.h have them; 0 = none.
 */
#ifndef PYTHON_PAIR_H
#define PYTHON_PAIR_H

#include "agent/core/thread.h"

/* The id of this native stack together with Python's, where there is one: from within
 * malloc, whatever the interpreter is doing. */
uint32_t pair_alloc(struct thread *t, uint32_t native);
/* The same of a call of CUDA. Inside of an operator Python's is that one's; without a
 * native stack it is not said again. */
uint32_t pair_call(struct thread *t, uint32_t native);

#endif
