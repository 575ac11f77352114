/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process without step boundaries of its own records what its nearest ancestor with
 * torch records: DataLoader workers, helpers. Which process is one of those cannot
 * be known when it starts, so each begins undecided, and later events settle it:
 *
 *  - The ancestor has a window open, or had boundaries: we follow. Our windows are
 *    CYCLE_CHILD; they begin, end, stay and go as the ancestor's do.
 *  - It has neither (torchrun and the parent of a spawn import torch, but train
 *    nothing): we act as if we had no ancestor, and keep an eye on it. When it opens a
 *    window for real, it is the one that drives: ours goes and we follow. When that
 *    window is as provisional as ours, ours stays and shares its fate.
 *  - Our first own boundary ends all that: what we have is ours if our own plan has
 *    step 0 in a window (or is the default), and is thrown away otherwise.
 *  - The process ends while the ancestor still had no boundary: the window is ours.
 *
 * The observer compares *sched_follow with sched_followed at every event; a value
 * that cannot be there (NEVER) makes the first event call, too.
 */
#include "agent/sched/cycle.h"
#include "agent/sched/state.h"

#define NEVER UINT64_MAX

static _Atomic uint64_t nobody; /* stays 0: the gate of no leader */
_Atomic uint64_t *sched_follow = &nobody;
uint64_t sched_followed = 0;

static uint32_t leader_pid;

static void watch_word(_Atomic uint64_t *word, uint64_t seen)
{
	/* An event between the two stores may call us in vain: follow_sync finds no
	 * change. */
	sched_followed = seen;
	sched_follow = word;
}

/* Tells the finisher which window ours belongs to: it ends ours if no event comes here
 * any more. */
static void tell_whom(uint64_t number)
{
	if (!job_mine)
		return;
	atomic_store(&job_mine->leads, number);
	atomic_store(&job_mine->leader,
		     sched.leader ? (uint64_t)leader_pid << 32 |
					    (uint64_t)(sched.leader - job->slot)
				  : 0);
}

void follow_nobody(void)
{
	sched.leader = NULL;
	tell_whom(0);
	watch_word(&nobody, 0);
}

void follow_wait_first(void)
{
	sched.leader = NULL;
	watch_word(&nobody, NEVER);
}

bool follow_changed(void)
{
	return atomic_load_explicit(sched_follow, memory_order_acquire) != sched_followed;
}

/* The leader's slot is another process's by now, so this process has no leader. */
static bool leader_gone(void)
{
	return atomic_load(&sched.leader->pid) != leader_pid;
}

static struct job_window *leader_window(uint64_t number)
{
	struct job_window *w = &sched.leader->window[number % JOB_WINDOWS];

	return number && number != NEVER && atomic_load(&w->cycle) == number ? w : NULL;
}

static bool is_undecided(const struct job_window *w)
{
	return w && atomic_load(&w->fate) == FATE_OPEN;
}

/* How our window ends, which belongs to the leader's window `seen`. Where the leader has
 * gone, or has opened eight windows since, the fate is not known: ours stays. */
static enum cycle_end fate_of(uint64_t seen, uint64_t *end)
{
	struct job_window *w = leader_window(seen);
	uint64_t at = w ? atomic_load(&w->end) : 0;

	if (at && cycle_now && at > cycle_now->begin)
		*end = at;
	return w && atomic_load(&w->fate) == FATE_THROWN ? CYCLE_THROW : CYCLE_KEEP;
}

static void join_window(uint64_t number, uint64_t now)
{
	struct job_window *w = leader_window(number);
	uint64_t begin = w ? atomic_load(&w->begin) : now;

	/* Steps are the leader's; they have no number here. */
	cycle_open(-1, CYCLE_CHILD | (is_undecided(w) ? CYCLE_PROVISIONAL : 0),
		   begin < now && begin >= sched.begun ? begin : now, CYCLE_KEEP);
	tell_whom(number);
}

void follow_sync(uint64_t now)
{
	uint64_t seen = sched_followed, number, end = now;
	enum cycle_end old = CYCLE_KEEP;
	bool mine;

	if (!sched.leader)
		return;
	if (leader_gone()) {
		if (cycle_now && cycle_now->flags & CYCLE_CHILD)
			cycle_close(now, CYCLE_KEEP);
		follow_nobody();
		sched_observe();
		return;
	}
	number = atomic_load(&sched.leader->gate);
	if (number == seen && seen != NEVER)
		return;
	watch_word(&sched.leader->gate, number);
	mine = cycle_now && !(cycle_now->flags & CYCLE_CHILD);
	/* Both windows are provisional: ours stays, and has the fate of the leader's. */
	if (mine && number && is_undecided(leader_window(number)) &&
	    cycle_now->flags & CYCLE_PROVISIONAL) {
		cycle_now->flags |= CYCLE_CHILD;
		tell_whom(number);
		return;
	}
	/* The leader's window has ended; ours never was a part of it. */
	if (mine && !number)
		return;
	/* The leader drives: a window of our own is thrown away, a follower's ends as the
	 * leader's did. */
	if (cycle_now) {
		if (mine)
			cycle_step_end(now);
		old = mine ? CYCLE_THROW : fate_of(seen, &end);
		cycle_close(end, old);
	}
	if (number)
		join_window(number, now);
	sched_observe();
}

bool follow_begin(uint64_t now)
{
	sched.leader = job_ancestor();
	if (!sched.leader)
		return false;
	leader_pid = atomic_load(&sched.leader->pid);
	watch_word(&sched.leader->gate, NEVER);
	if (atomic_load(&sched.leader->gate) || atomic_load(&sched.leader->boundaries)) {
		follow_sync(now);
		return true;
	}
	watch_word(&sched.leader->gate, 0);
	return false;
}

void follow_end(uint64_t now)
{
	bool child = cycle_now && cycle_now->flags & CYCLE_CHILD;

	follow_nobody();
	sched.now->phase = schedule_at(&sched.now->plan, 0);
	if (!cycle_now && sched.now->phase >= PHASE_RECORD)
		sched.now->phase = PHASE_NONE; /* so that the next step opens one */
	if (!child)
		return;
	/* The user's plan has step 0 in no window: what was recorded as a follower is not
	 * wanted. */
	if (sched.now->given && sched.now->phase < PHASE_RECORD) {
		cycle_close(now, CYCLE_THROW);
		return;
	}
	cycle_now->first_step = 0;
	if (!sched.now->given)
		cycle_now->flags |= CYCLE_PROVISIONAL;
	cycle_settle(CYCLE_CHILD | (sched.now->given ? CYCLE_PROVISIONAL : 0));
	cycle_step_begin(0,
			 sched.begun > cycle_now->begin ? sched.begun : cycle_now->begin);
}

/* Loads and stores only: _exit comes here, too. */
bool follow_keeps(uint64_t *end)
{
	if (!sched.leader || !cycle_now || !(cycle_now->flags & CYCLE_CHILD))
		return true;
	if (fate_of(sched_followed, end) == CYCLE_THROW)
		return false;
	if (!atomic_load(&sched.leader->boundaries))
		cycle_settle(CYCLE_CHILD);
	return true;
}
