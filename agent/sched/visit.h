/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visit - which stage the run is in, from its entry to its leaving.
 *
 * Where there are stages the run is in one of them, or in none; a window never has two.
 * One that is entered keeps the one before below it, and leaving goes back there. An open
 * window ends with the visit, and is kept if a step of it has ended; the plan goes on at
 * the next visit.
 *
 * Threads  visit_begin_call, visit_end_call: the one that makes the steps, or in whose
 *          stead a call ends. visit_minds, visit_minds_each: any.
 *          visit_exit: the holder of the scheduler's lock. visit_fork_child: a fork's.
 * Memory   static.
 * Errors   none.
 * Units    ticks.
 */
#ifndef SCHED_VISIT_H
#define SCHED_VISIT_H

#include "agent/sched/stage.h"

/* The trigger's function is called, has returned: its outermost call. visit_minds: is
 * there anything to do when a call begins? visit_minds_each: do those within another
 * count, too? (A stage may be left by one of two functions, and one call the other.) */
bool visit_minds(unsigned trigger);
bool visit_minds_each(unsigned trigger);
void visit_begin_call(unsigned trigger);
void visit_end_call(unsigned trigger);

/* The process ends at `now`. visit_tell says what was kept of each, without the lock. */
void visit_exit(uint64_t now);
void visit_tell(void);
bool visit_was_made(void); /* of any stage, in this process */
void visit_fork_child(void);

#endif
