/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What time alone brings: steps by the clock, the end of a provisional window that has
 * waited for a boundary long enough or is full, the end of a leader's window. (A full
 * window of the plan stays open: records lost in it are counted only so.)
 *
 * The keeper calls this.  It takes the lock only when there is something to do: the
 * program must never wait for a thread that waits for a processor.
 */
#include "agent/core/emit.h"
#include "agent/sched/cycle.h"
#include "agent/sched/early.h"
#include "agent/sched/state.h"

#define SECOND   1000000000ll
#define TICK     (SECOND / 10)
#define PATIENCE 60.0 /* seconds without a boundary: the provisional window is kept */

static bool has_dropped(const struct cycle_info *info)
{
	return atomic_load_explicit(&((struct cycle_info *)info)->whys[DROP_CAP],
				    memory_order_relaxed);
}

static bool waited_long(void)
{
	uint64_t last = atomic_load_explicit(&sched.last, memory_order_relaxed);
	uint64_t now = clock_ticks();
	double rate = clock_rate(spool.head);

	return rate > 0 && now > last && (double)(now - last) / rate > PATIENCE;
}

static bool is_provisional(const struct cycle_info *info)
{
	return (info->flags & (CYCLE_PROVISIONAL | CYCLE_CHILD | CYCLE_WHOLE)) ==
	       CYCLE_PROVISIONAL;
}

static bool worth_a_look(void)
{
	struct cycle_info *info = gate_cycle() ? emit_info() : NULL;

	return info && is_provisional(info) && (has_dropped(info) || waited_long());
}

/* Why the provisional window is kept now, or NULL: an early one is not. Under the
 * lock. */
static const char *end_provisional(void)
{
	const char *why;
	uint64_t now = clock_ticks();
	bool early;

	if (!cycle_now || !is_provisional(cycle_now))
		return NULL;
	why = has_dropped(cycle_now) ? " before buffer_mb was full"
	      : waited_long()        ? " for a minute"
				     : NULL;
	if (!why)
		return NULL;
	early = cycle_now->flags & CYCLE_EARLY;
	cycle_step_end(now);
	if (early)
		early_tick(has_dropped(cycle_now), now);
	else
		cycle_close(now, CYCLE_KEEP);
	sched.now->settled |= !early;
	sched_observe();
	return early ? NULL : why;
}

static int64_t tick_time(int64_t now_ns)
{
	int64_t period = (int64_t)stage_run.marker.period_ns;

	if (now_ns >= sched.due_ns) {
		sched.due_ns += period;
		/* Late by more than a period: steps that nobody saw are not made up. */
		if (sched.due_ns <= now_ns)
			sched.due_ns = now_ns + period;
		sched_boundary(NULL, true);
	}
	return sched.due_ns - now_ns;
}

int64_t sched_tick(void)
{
	const struct stage *s = NULL;
	const char *why = NULL;
	int64_t next = TICK;

	if (atomic_load(&sched.life) != LIFE_ON)
		return TICK;
	/* A window of ours ends with the leader's even when no event comes here. */
	if (gate_cycle() && follow_changed())
		sched_follow_changed();
	if (stage_run.marker.kind == MARKER_TIME)
		next = tick_time(sys_clock_ns(CLOCK_MONOTONIC));
	if (worth_a_look() && sched_lock()) {
		s = sched.now;
		why = end_provisional();
		sched_unlock();
	}
	if (why)
		sched_say_provisional(s, why);
	return next < TICK ? next : TICK;
}
