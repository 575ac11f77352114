/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a process: what is open is kept or thrown away, and what the user has to
 * know about it is said.
 */
#include "agent/core/clock.h"
#include "agent/core/log.h"
#include "agent/core/sys.h"
#include "agent/sched/cycle.h"
#include "agent/sched/state.h"

#include <errno.h>

static bool tell_once(uint32_t bit)
{
	return !job || !(atomic_fetch_or(&job->told, bit) & bit);
}

void sched_say_provisional(const char *why)
{
	if (tell_once(TOLD_PROVISIONAL))
		log_note(
			"%s after %lu step boundaries: kept what was recorded since the first "
			"operator; name what ends a step with --marker, or the steps with "
			"--schedule",
			why, (unsigned long)sched.step);
}

/* A shell around the program has no such function, and need not. */
static void say_not_found(void)
{
	bool ours = atomic_load(&sched.torch) || !job || !atomic_load(&job->launcher) ||
		    sys_parent(sys_pid()) == atomic_load(&job->launcher);

	if (sched.marker.kind == MARKER_SYMBOL && !atomic_load(&sched.patched) && ours &&
	    tell_once(TOLD_SYMBOL))
		log_warn(
			"marker symbol:%s: there is no such function in the program or its "
			"libraries (a stripped one has no names of local functions)",
			sched.marker.text);
}

/* True: what was kept was provisional. */
static bool end_window(uint64_t now)
{
	bool keep = follow_keeps();
	bool provisional = keep && !(cycle_now->flags & CYCLE_CHILD) &&
			   cycle_now->flags & CYCLE_PROVISIONAL;

	cycle_step_end(now);
	cycle_close(now, keep ? CYCLE_KEEP : CYCLE_THROW);
	return provisional;
}

void sched_exit(void)
{
	int saved = errno;
	bool provisional;

	if (sched_life() == LIFE_OFF || !sched_lock())
		return;
	atomic_store(&sched.life, LIFE_OFF);
	provisional = cycle_now && end_window(clock_ticks());
	follow_nobody();
	sched_unlock();
	if (provisional)
		sched_say_provisional("the program ended");
	say_not_found();
	errno = saved;
}

void sched_leave(void)
{
	if (sched_life() == LIFE_ON && cycle_now && !follow_keeps())
		atomic_store(&cycle_now->state, CYCLE_DISCARDED);
}
