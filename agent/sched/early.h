/* SPDX-License-Identifier: Apache-2.0 */
/*
 * early - a few steps before the first window of the user's plan, in case the program
 * ends before that.
 *
 * Threads  all functions: the holder of the scheduler's lock; early_leave any, at _exit.
 * Memory   the windows' own: an open one and a held one (cycle.h) at most.
 * Errors   none: where no window can be opened there is none.
 * Units    ticks.
 */
#ifndef SCHED_EARLY_H
#define SCHED_EARLY_H

#include "agent/sched/schedule.h"

#include <stdbool.h>

/* The user's plan waits for its first window, and a boundary has been passed, to `next`;
 * `flags`: of a window by this marker. True: a window was opened or closed. */
bool early_pass(enum phase next, uint32_t flags, uint64_t now);
/* No boundary has come for long, or the buffer is full of the open window. */
void early_tick(bool full, uint64_t now);
/* Does the open window stay at the process's end, for all that is known of early ones? */
bool early_keeps(void);
/* The process ends, and its open window has. */
void early_exit(bool kept_early);
void early_leave(void); /* the same by stores alone, before the open one is closed */

#endif
