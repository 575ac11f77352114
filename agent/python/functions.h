/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions - each call of a Python function, and of C functions by Python, that the
 * interpreter tells of while a window is open.
 *
 * The interpreter tells of calls once it is asked to (wish.h). It is told to stop by the
 * first event after the window.
 *
 * Threads  functions_want: the agent's constructor. functions_ended: the holder of the
 *          scheduler's lock. functions_event: any. functions_fork_child: a fork's child.
 * Memory   track.h; of what the program has, references to two functions.
 * Errors   a line says why there are none.
 * Units    none.
 */
#ifndef PYTHON_FUNCTIONS_H
#define PYTHON_FUNCTIONS_H

#include "agent/core/cycle_info.h"
#include "agent/python/entered.h"
#include "agent/python/profile.h"
#include "agent/python/wish.h"

#include <stdbool.h>

/* Of Python functions, of C functions, or both; else nothing happens. */
void functions_want(bool python, bool c);
void functions_ended(struct cycle_info *info, bool kept);
void functions_fork_child(void);

/* An operator or annotation of this thread is about to begin, and one of these says that
 * somebody waits for it: wish_now, entered_found. */
static inline void functions_event(void)
{
	if (__builtin_expect(wish_now & WISH_BEGIN, 0))
		wish_look();
	if (__builtin_expect(wish_now & WISH_CHECK, 0))
		profile_check();
	if (__builtin_expect(entered_found, 0))
		entered_event();
}

#endif
