/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler as the agent sees it: its options, what is found, fork. */
#include "agent/core/emit.h"
#include "agent/sched/cycle.h"
#include "agent/sched/state.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>

static struct sched_actions sched_act;

static void window_opened(struct cycle_info *info)
{
	atomic_store_explicit(&sched.opened, true, memory_order_relaxed);
	if (sched.act->opened)
		sched.act->opened(info);
}

void sched_follow_changed(void)
{
	int saved = errno;

	if (sched_life() == LIFE_NONE || sched_life() == LIFE_STARTING) {
		sched_wake();
	} else if (sched_life() == LIFE_ON && sched_lock()) {
		if (sched_life() == LIFE_ON)
			follow_sync(clock_ticks());
		sched_unlock();
	}
	errno = saved;
}

void sched_start(const struct config *cfg, const struct sched_actions *actions)
{
	sched_act = *actions;
	sched.act = &sched_act;
	sched.children = cfg->children;
	sched.cpu_off = cfg->activities == ACTIVITIES_CUDA;
	cycle_start(&(struct cycle_listener){ .opened = window_opened,
					      .ending = actions->ending,
					      .ended = actions->ended,
					      .sealed = actions->sealed });
	stage_start(cfg);
	follow_wait_first();
}

void sched_torch_found(void)
{
	int saved = errno;

	if (sched_life() == LIFE_OFF || atomic_exchange(&sched.torch, 1))
		return;
	if (job)
		atomic_fetch_or(&job->told, JOB_TOLD_TORCH);
	sched_whole_ends();
	/* The slot on the job's page is where descendants find us, even if we never
	 * record anything ourselves. */
	if (sched.act->begin() && job_mine) {
		uint32_t none = TORCH_NONE;

		atomic_compare_exchange_strong(&job_mine->torch, &none, TORCH_FOUND);
		/* With such an ancestor this process may be a worker that was spawned:
		 * only its operators can tell it to follow. */
		sched.may_follow = job_ancestor() != NULL;
	}
	if (stage_run.marker.kind == MARKER_TIME || stage_run.marker.kind == MARKER_NONE)
		sched_wake();
	if (sched_lock()) {
		sched_observe();
		sched_unlock();
	}
	errno = saved;
}

void sched_used(void)
{
	int saved = errno;

	sched_whole_ends();
	/* With torch the first operator says when step 0 begins. */
	if (sched_life() == LIFE_NONE && !atomic_load(&sched.torch))
		sched_wake();
	errno = saved;
}

void sched_first_block(void)
{
	if (sched_life() == LIFE_NONE && sched_is_whole())
		sched_wake_whole();
	else
		sched_follow_changed();
}

bool sched_begun(void)
{
	return sched_life() == LIFE_ON;
}

void sched_collect(bool on)
{
	int saved = errno;

	if (sched_lock()) {
		sched.cpu_off = !on;
		sched_observe();
		sched_unlock();
	}
	errno = saved;
}

void sched_main(bool records)
{
	sched.main_ticks = clock_ticks();
	/* Otherwise the first event opens the window, and main_ticks is its begin. */
	if (records && sched_is_whole())
		sched_wake_whole();
	sched_library();
}

void sched_stay_out(void)
{
	atomic_store(&sched.life, LIFE_OFF);
	follow_nobody();
}

void sched_fork_child(void)
{
	sched_lock_forget();
	atomic_store(&sched.life,
		     sched.children && sched_life() != LIFE_OFF ? LIFE_NONE : LIFE_OFF);
	sched.main_ticks = 0;
	sched.driver = false;
	atomic_store(&sched.whole, false);
	cycle_fork_child();
	marks_fork_child();
	steps_fork_child();
	if (sched.children)
		follow_wait_first();
	else
		follow_nobody();
}
