/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cycle - opens and seals recording windows, and writes their ProfilerStep#N.
 *
 * Threads  one at a time: the holder of the scheduler's lock.
 * Memory   a descriptor for each window, in a chunk of its own in the spool; it is
 *          the writer's as soon as the window is sealed.
 * Errors   cycle_open: false when the cap has no room for a descriptor (said once,
 *          counted as missed).
 * Units    ticks.
 */
#ifndef SCHED_CYCLE_H
#define SCHED_CYCLE_H

#include "agent/core/job.h"
#include "agent/core/spool.h"

/* A held window is over and undecided; there is one at most, and the next one that is
 * held takes its place. */
enum cycle_end { CYCLE_KEEP, CYCLE_THROW, CYCLE_HOLD };

/* The open window, or NULL. Only `flags` and `first_step` may be changed. */
extern struct cycle_info *cycle_now;
extern struct cycle_info *cycle_held; /* or NULL */
extern uint32_t cycle_stage; /* whose windows these are: cycle_info.h */

struct cycle_listener {
	void (*opened)(struct cycle_info *info); /* before anybody sees it open */
	void (*ending)(void); /* the window is still open, and is about to end */
	void (*ended)(struct cycle_info *info, bool kept); /* before it is the writer's */
	void (*sealed)(void); /* the writer has work */
};
void cycle_start(const struct cycle_listener *listener);
/* Opens a window that begins at `begin`. A window that is open ends as `old` says, at the
 * same moment: the gate goes from one number to the next and is never closed. */
bool cycle_open(int64_t first_step, uint32_t flags, uint64_t begin, enum cycle_end old);
void cycle_close(uint64_t end, enum cycle_end how);
void cycle_release(enum cycle_end how); /* the held one is kept, or thrown away */
/* The open window loses `flags_off`; if it is no longer provisional it stays, and
 * followers are told. */
void cycle_settle(uint32_t flags_off);
/* Does the open window stay, whatever its flags say? The finisher may have settled
 * that. */
bool cycle_kept(void);
/* ProfilerStep#N begins in the calling thread (nothing happens without a window). */
void cycle_step_begin(int64_t number, uint64_t begin);
void cycle_step_end(uint64_t end);
void cycle_step_void(void); /* what has begun was none */
void cycle_fork_child(void);

#endif
