/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits - what the program takes from itself, and so from us: system calls (seccomp),
 * the company of other threads (unshare, setns), memory (mlockall, limits).
 */
#include "agent/agent.h"
#include "agent/core/gate.h"
#include "agent/core/names.h"
#include "agent/core/spool.h"
#include "agent/core/stacks.h"
#include "agent/heap/heap.h"
#include "agent/sched/sched.h"
#include "base/log.h"
#include "base/own_thread.h"
#include "base/roomy.h"
#include "base/sys.h"
#include "writer/writer.h"

#include <time.h>

#define CONFINED      (4ull << 20) /* bytes of spool made ready before seccomp ... */
#define CONFINED_HEAP (16ull << 20) /* ... and where the heap is recorded */
#define NAP           20000 /* ns */
#define LONGEST       50000000ll /* ns, for another thread's change */

/* Stores only: a filter may forbid all that would have to be asked for, and then the
 * closed gate alone protects the parent's records. */
void agent_stay_out(void)
{
	gate_set(0, 0);
	sched_stay_out();
	agent.on = false;
}

/* False in a child of vfork, which has its parent's memory and may change nothing there;
 * and behind a seccomp filter, which may allow the program's call and forbid ours. */
static bool is_mine(void)
{
	return agent.on && !sys_confined && agent.pid == sys_pid();
}

static void begin_now(void *arg)
{
	*(bool *)arg = agent_begin();
}

void limits_alone(bool begins)
{
	if (!is_mine())
		return;
	/* Our thread comes back with the next record: a handler may have interrupted
	 * malloc, and a new thread allocates. */
	if (begins)
		writer_pause();
	else
		writer_unpause();
}

/* Without a clock nothing can be recorded. */
static void end_recording(void)
{
	if (!sys_confined)
		writer_stop();
	if (atomic_load(&agent.state) == AGENT_READY && !sys_confined) {
		sched_exit();
		agent_leave();
	}
	agent_heap_off();
	agent_stay_out();
	log_quiet = true;
	if (!sys_confined)
		sys_confine();
}

/* After the filter nothing can be asked for: the spool, the index of names and the pages
 * that records will need are made now. */
static void prepare_all(void)
{
	bool begun = false;

	if (spool.base)
		roomy_call(begin_now, &begun);
	if (!begun)
		return;
	names_add("", 0, NULL, 0); /* its index has to be there */
	spool_confine(agent.config.malloc ? CONFINED_HEAP : CONFINED);
}

bool limits_confine(bool clock)
{
	if (!agent.on || (sys_confined && !clock))
		return false;
	if (agent.pid != sys_pid()) {
		/* A raw clone has memory of its own, with a wiped gate; a vfork child has
		 * not. */
		if (sys_confined || !spool.base || atomic_load(&gate->alive))
			return false;
		sys_confine();
		return true;
	}
	if (clock) {
		end_recording();
		return false;
	}
	writer_stop();
	prepare_all();
	log_quiet = true;
	sys_confine();
	return true;
}

void limits_unconfine(void)
{
	sys_unconfine();
	if (!is_mine())
		return;
	log_quiet = agent.config.quiet;
	spool_unconfine();
	writer_go_on();
}

/* ---- memory ---- */

static _Atomic bool changing; /* a thread makes the spool smaller, or larger */
static _Atomic uint32_t locks; /* of the program's, on their way */
static bool small, single; /* since the first of them */

/* Signals are blocked, so whoever changes it will soon have done. */
static bool begin_change(void)
{
	int64_t until = sys_clock_ns(CLOCK_MONOTONIC) + LONGEST;

	while (atomic_exchange(&changing, true)) {
		if (sys_clock_ns(CLOCK_MONOTONIC) > until)
			return false;
		sys_nap(NAP);
	}
	return true;
}

static void end_change(void)
{
	atomic_store(&changing, false);
}

void limits_fork_child(void)
{
	atomic_store(&changing, false);
	atomic_store(&locks, 0);
	small = single = false;
}

/* mlockall() would make all that we have mapped resident, or fail for it. So what is not
 * in use is unmapped for the time of the call. The tables of stacks and rules go as well
 * where the program has one thread: no other thread can be looking at them. A handler may
 * have come while this thread looks at them itself: then all stays. */
bool limits_lock(void)
{
	if (!is_mine() || agent_midway())
		return false;
	atomic_fetch_add(&locks, 1);
	if (!begin_change())
		return true;
	if (!small) {
		small = writer_pause() && spool_shrink(0);
		single = small && own_thread_others() == 1;
		if (single)
			heap_stacks_off();
	}
	end_change();
	return true;
}

static void grow_again(void)
{
	if (small)
		spool_regrow();
	if (single)
		heap_stacks_on();
	small = single = false;
}

/* The last one of those that lock at once makes all as it was. */
void limits_locked(bool ours, bool done, bool future)
{
	if (ours)
		atomic_fetch_sub(&locks, 1);
	if (!is_mine())
		return;
	if (done)
		sys_no_maps = future;
	if (!ours || !begin_change())
		return;
	if (!atomic_load(&locks)) {
		grow_again();
		/* Our thread comes back with the next record: a handler may have
		 * interrupted malloc, and a new thread allocates. Never where what is
		 * mapped now would be locked, as a thread's stack is. */
		if (!sys_no_maps)
			writer_unpause();
	}
	end_change();
}

static void settle_spool(uint64_t room)
{
	if (small) {
		spool_bound(room);
		return;
	}
	if (writer_pause()) {
		if (own_thread_others() == 1)
			stacks_shrink();
		if (spool_shrink(room))
			spool_settle();
	}
	writer_unpause();
}

/* A limit that is set now counts what is mapped already, and our mappings would use up
 * the program's share. So the spool shrinks to its part of the new limit, and for
 * good. */
void limits_limit(int resource, uint64_t bytes)
{
	uint64_t room;

	if (!is_mine() || bytes == UINT64_MAX)
		return;
	sys_scarce = true;
	if (agent_midway())
		return;
	room = spool_room_below(resource, bytes);
	if (!begin_change())
		return;
	settle_spool(room);
	end_change();
}
