/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wish - what the interpreter is asked for once a window is open, and once it has ended.
 *
 * Only a thread with its lock may ask: its main thread, between two instructions, or one
 * that calls an operator. Nobody waits for either.
 *
 * Threads  wish_add: the agent's constructor. wish_opened: any, without the scheduler's
 *          lock. wish_ended, wish_note: any. wish_look: any; nothing happens in one that
 *          does not hold the interpreter's lock. wish_fork_child: a fork's child.
 * Memory   static.
 * Errors   none: a wish that nobody could fulfil stays.
 * Units    ticks.
 */
#ifndef PYTHON_WISH_H
#define PYTHON_WISH_H

#include "agent/core/cycle_info.h"

enum {
	WISH_BEGIN = 1, /* a window is open, and nobody has asked yet */
	WISH_END = 2, /* none is, and what was asked for is still there */
	WISH_CHECK = 4, /* functions.h: another tool may take a thread's calls from us */
};
extern _Atomic int wish_now;

/* Called with the interpreter's lock, no exception set and malloc's hooks passed by,
 * while a window is open and while none is. `end` may be NULL. Four at most. */
void wish_add(void (*begin)(void), void (*end)(void));
void wish_look(void);
void wish_opened(void); /* a window has opened, by this thread */
/* One has ended, and the next may be open; or something was met that is to be gone. */
void wish_ended(void);
void wish_fork_child(void);
/* The first fulfilment in the open window: the count becomes its time. */
void wish_note(enum python_count what);

#endif
