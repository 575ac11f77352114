/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state - what the scheduler's files share: plan, step, role.
 *
 * Threads  all but the atomic words: under `lock`.
 * Memory   static.
 * Errors   none.
 * Units    ticks, unless named.
 */
#ifndef SCHED_STATE_H
#define SCHED_STATE_H

#include "agent/sched/sched.h"
#include "agent/sched/stage.h"

#include <stdatomic.h>

enum life { LIFE_NONE, LIFE_STARTING, LIFE_ON, LIFE_OFF };

struct sched_state {
	_Atomic uint32_t lock;
	_Atomic uint32_t life; /* enum life: has step 0 begun in this process? */
	_Atomic uint32_t torch; /* libtorch is there */
	_Atomic uint32_t patched; /* the symbol: marker was found, or is looked for */
	_Atomic bool called; /* the function of a python: marker */
	_Atomic bool whole; /* the window of the whole run is open (sched_wake_whole) */
	const struct sched_actions *act;
	bool children;
	_Atomic bool ops; /* a marker needs operators outside windows */
	_Atomic bool opened; /* a window was opened since the last sched_unlock */
	bool cpu_off; /* operators are not wanted (activities) */
	uint64_t main_ticks; /* when main began; 0 = not known */

	/* The one that is on: changed under the lock, and by the thread alone that makes
	 * the steps, which may read it without. */
	struct stage *_Atomic now;
	uint64_t begun; /* when step 0 began */
	_Atomic uint64_t last; /* when the last boundary was */
	bool driver; /* this process has boundaries of its own, or needs none */
	bool may_follow; /* an ancestor has torch: this process may become its follower */
	struct job_slot *leader; /* the ancestor that we follow or watch, or NULL */
	int64_t due_ns; /* time: next boundary, CLOCK_MONOTONIC */
};
extern struct sched_state sched;

static inline bool follow_active(void)
{
	return sched.leader;
}

/* Bits of the job page's word: said by one process of the job, not by each. */
enum {
	TOLD_PROVISIONAL = 1u << 8,
	TOLD_SYMBOL = 1u << 9, /* or python: */
	TOLD_STAGE = 1u << 10
};

static inline enum life sched_life(void)
{
	return (enum life)atomic_load_explicit(&sched.life, memory_order_acquire);
}

/* Held for a gate change, never across anything slow. False: this very thread holds it
 * (we are in a signal handler within a boundary), or the holder gets no processor. */
bool sched_lock(void);
void sched_unlock(void); /* then calls opened_now, if a window was opened meanwhile */
bool sched_locked(void); /* does this thread hold it? */
void sched_lock_forget(void); /* atfork child */
/* Step 0 begins now, unless it has. False: nothing is (or can be) scheduled here. */
bool sched_wake(void);
/* The heap is recorded, and no marker says when a step begins: then the whole run is one
 * window. It opens here, unless something has begun. */
void sched_wake_whole(void);
/* Torch, CUDA or a step was met after all: that window is thrown away, and step 0 is yet
 * to begin. */
void sched_whole_ends(void);
bool sched_whole_goes(void); /* ... is thrown away at exit: the job has met torch */
/* One step ends, the next one begins. `chosen`: what `auto` took, or NULL.
 * `row`: the step gets a ProfilerStep#N. */
void sched_boundary(const char *chosen, bool row);
/* Switches operator callbacks on while any of the reasons for them holds. Under the
 * lock. */
void sched_observe(void);

/* Says in one line that a provisional window of a stage was kept; without the lock.
 * `when`: "" at the process's end, else what has ended the window before. */
void sched_say_provisional(const struct stage *s, const char *when);

/* ---- steps.c: under the lock, but steps_change ---- */

/* Step 0 of the process begins, unless it has; then the lock is taken, and it is done. */
void steps_change(void (*how)(struct stage *s, uint64_t now), struct stage *s);
void steps_begin(uint64_t now); /* a step of the stage that is on begins */
void steps_pass(bool row, uint64_t now); /* one ends, the next one begins */
void steps_count(void); /* one has ended */
void steps_drive(uint64_t now); /* what happens here decides when windows open */
void steps_fork_child(void);

/* ---- marks.c ---- */

void marks_fork_child(void);

/* ---- follow.c: under the lock ---- */

/* Looks for an ancestor that may drive us. True: its windows decide for now. */
bool follow_begin(uint64_t now);
void follow_sync(uint64_t now);
bool follow_changed(void); /* has the leader's gate changed? cheap; without the lock */
/* We have a boundary of our own: what was recorded as a follower becomes ours or goes. */
void follow_end(uint64_t now);
/* The process ends: does the open window stay? It becomes ours where nobody drives. *end:
 * where the window ends, if that was before now. */
bool follow_keeps(uint64_t *end);
void follow_nobody(void); /* sched_follow_changed is called for no event any more */
void follow_wait_first(void); /* sched_follow_changed is called for the first event */

#endif
