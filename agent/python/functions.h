/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions - each call of a Python function while a window is open.
 *
 * The interpreter tells of calls once it is asked to, which only a thread with its lock
 * may do: its main thread, between two instructions, or one that calls an operator. It is
 * told to stop by the first event after the window.
 *
 * Threads  functions_want, functions_find: the agent's constructor and whoever finds the
 *          interpreter. functions_opened: any, without the scheduler's lock.
 *          functions_ended: its holder. functions_look: any; nothing happens in one that
 *          does not hold the interpreter's lock. functions_fork_child: a fork's child.
 * Memory   track.h; of what the program has, references to two functions.
 * Errors   a line says why there are none.
 * Units    none.
 */
#ifndef PYTHON_FUNCTIONS_H
#define PYTHON_FUNCTIONS_H

#include "agent/core/cycle_info.h"
#include "agent/python/entered.h"
#include "agent/python/profile.h"

#include <stdbool.h>

void functions_want(void); /* else nothing happens */
enum {
	FUNCTIONS_ASK = 1, /* a window is open, and nobody has asked yet */
	FUNCTIONS_CHECK = 2, /* another tool may take a thread's calls from us */
};
extern _Atomic int functions_wish;
void functions_look(void);
void functions_opened(void); /* a window has opened, by this thread */
void functions_ended(struct cycle_info *info, bool kept);
void functions_fork_child(void);

/* An operator or annotation of this thread is about to begin, and one of these says that
 * somebody waits for it: functions_wish, entered_found. */
static inline void functions_event(void)
{
	if (__builtin_expect(functions_wish & FUNCTIONS_ASK, 0))
		functions_look();
	if (__builtin_expect(functions_wish & FUNCTIONS_CHECK, 0))
		profile_check();
	if (__builtin_expect(entered_found, 0))
		entered_event();
}

#endif
