/* SPDX-License-Identifier: Apache-2.0 */
/* Switches operator callbacks on while a window, the marker or an ancestor needs them. */
#include "agent/sched/cycle.h"
#include "agent/sched/state.h"

void sched_observe(void)
{
	bool first = sched_life() == LIFE_NONE &&
		     (!sched.now->given || sched.may_follow ||
		      schedule_at(&sched.now->plan, 0) >= PHASE_RECORD);

	sched.act->observe((cycle_now && !sched.cpu_off) || sched.ops ||
			   follow_active() || (first && atomic_load(&sched.torch)));
}
