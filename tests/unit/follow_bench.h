/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow_bench - a process of a job whose parent has torch: what it follows.
 *
 * Threads  none of its own.  Memory  one process for each test: Check forks.
 * Errors   assertions.  Units  none.
 */
#ifndef TESTS_FOLLOW_BENCH_H
#define TESTS_FOLLOW_BENCH_H

#include "agent/core/self.h"
#include "base/sys.h"
#include "tests/unit/sched_bench.h"

#include <unistd.h>

static struct job_slot *leader;

/* Our parent has torch; we are a process of the same job. */
static inline void start_child(const char *schedule)
{
	self_look("test");
	self_settle(1);
	job = calloc(1, sizeof(*job));
	leader = &job->slot[0];
	atomic_store(&leader->pid, (uint32_t)getppid());
	leader->start_time = sys_start_time((uint32_t)getppid());
	atomic_store(&leader->torch, 1);
	job_mine = &job->slot[1];
	atomic_store(&job_mine->pid, (uint32_t)getpid());
	start(schedule, "auto");
	sched_torch_found();
}

static inline void leader_opens(uint64_t number, bool provisional)
{
	struct job_window *w = &leader->window[number % JOB_WINDOWS];

	atomic_store(&w->cycle, number);
	atomic_store(&w->begin, clock_ticks());
	atomic_store(&w->end, 0);
	atomic_store(&w->fate, !provisional);
	atomic_store(&leader->gate, number);
}

static inline uint64_t leader_closes(uint64_t number, unsigned fate)
{
	struct job_window *w = &leader->window[number % JOB_WINDOWS];

	atomic_store(&w->end, clock_ticks());
	atomic_store(&w->fate, fate);
	atomic_store(&leader->gate, 0);
	return atomic_load(&w->end);
}

#endif
