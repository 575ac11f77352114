/* SPDX-License-Identifier: Apache-2.0 */
/* A signal's handler may find its thread in the middle of something of ours. */
#include "agent/agent.h"
#include "agent/core/thread.h"
#include "agent/cuda/cuda.h"
#include "agent/sched/sched.h"

bool agent_midway(void)
{
	return agent_begins_here() || thread_midway() || sched_midway() ||
	       cuda_hooks_inside();
}
