/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Early windows. A plan such as wait=1000 may begin after the program's end, and nobody
 * knows that before. So steps 1, 2 and 3, 4 to 6, 8 to 10, 16 to 18 and so on are
 * recorded while the plan waits: few enough to cost nothing that counts, and the last of
 * them lie in the later half of the run, whenever it ends. One window is held at a time;
 * it is thrown away when the plan's first window begins.
 */
#include "agent/sched/early.h"
#include "agent/sched/cycle.h"
#include "agent/sched/state.h"

#define STEPS 3 /* of an early window, at most */

static bool is_open(void)
{
	return cycle_now && cycle_now->flags & CYCLE_EARLY;
}

static bool begins_at(uint64_t step)
{
	return step && !(step & (step - 1));
}

static uint64_t steps_done(void)
{
	return sched.now->step - (uint64_t)cycle_now->first_step;
}

bool early_pass(enum phase next, uint32_t flags, uint64_t now)
{
	uint64_t most = sched.now->plan.active < STEPS ? sched.now->plan.active : STEPS;

	if (cycle_now && !is_open())
		return false;
	if (next == PHASE_NONE && begins_at(sched.now->step + 1))
		sched.act->arm();
	if (next == PHASE_NONE && begins_at(sched.now->step))
		cycle_open((int64_t)sched.now->step,
			   CYCLE_PROVISIONAL | CYCLE_EARLY | flags, now, CYCLE_HOLD);
	else if (is_open() && (next != PHASE_NONE || steps_done() >= most))
		cycle_close(now, CYCLE_HOLD);
	else
		return false;
	return true;
}

/* What fills the buffer must not be in the way of the plan's own windows. */
void early_tick(bool full, uint64_t now)
{
	sched.now->settled = full;
	cycle_close(now, full ? CYCLE_THROW : CYCLE_HOLD);
}

/* Of two the later one stays, if a step of it has ended. */
bool early_keeps(void)
{
	return !is_open() || steps_done() || !cycle_held;
}

void early_exit(bool kept_early)
{
	cycle_release(kept_early ? CYCLE_THROW : CYCLE_KEEP);
}

void early_leave(void)
{
	struct cycle_info *other = early_keeps() ? cycle_held : cycle_now;

	if (is_open() && other)
		atomic_store(&other->state, CYCLE_DISCARDED);
}
