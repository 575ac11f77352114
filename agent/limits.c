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
#include "agent/heap/gap.h"
#include "agent/heap/heap.h"
#include "agent/sched/sched.h"
#include "agent/turns.h"
#include "agent/unwind/rules.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/own_thread.h"
#include "base/roomy.h"
#include "base/sys.h"
#include "writer/writer.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#define CONFINED      (4ull << 20) /* bytes of spool made ready before seccomp ... */
#define CONFINED_HEAP (16ull << 20) /* ... and where the heap is recorded */

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

static bool small, single; /* since the first lock of those on their way */

void limits_fork_child(void)
{
	turns_fork_child();
	small = single = false;
}

/* No other thread can be looking at our tables; nor this one, which a handler may have
 * interrupted. A task that shares our memory without being a thread is not counted. */
static bool is_only_thread(void)
{
	return !guard_word && own_thread_others() == 1;
}

/* What they hold is found again, or stored again. */
static void shrink_stacks(void)
{
	stacks_shrink();
	unwind_rules_shrink();
}

/* mlockall() would make all that we have mapped resident, or fail for it. So what is not
 * in use is unmapped for the time of the call, the index of stacks as well where the
 * program has one thread. A handler may have come while this thread looks at them itself:
 * then all stays. */
bool limits_lock(void)
{
	if (!is_mine() || agent_midway())
		return false;
	turns_lock();
	if (!turns_take())
		return true;
	if (!small) {
		small = writer_pause() && spool_shrink(0);
		single = small && is_only_thread();
		if (single)
			shrink_stacks();
	}
	turns_give();
	return true;
}

/* It has failed for want of memory that may be locked: as a plain user a program may lock
 * 8 MiB, and what was recorded may be more than that. */
bool limits_lock_less(void)
{
	bool less;

	if (!is_mine() || !turns_take())
		return false;
	less = single && spool_put_away();
	turns_give();
	return less;
}

/* Records lie where something of the program's is now. What was recorded before is in
 * the file. */
static void lose_spool(void)
{
	log_warn("recording has ended: the program has mapped something where its "
		 "records were, while it locked its memory (mlockall)");
	agent_heap_off();
	agent_stay_out();
}

static void grow_again(void)
{
	if (!small && spool.base)
		munlock(spool.base, spool.now); /* there was no turn to make it small */
	if (small && !spool_regrow())
		lose_spool();
	small = single = false;
}

/* The last one of those that lock at once makes all as it was. */
void limits_locked(bool ours, bool done, bool future)
{
	if (ours)
		turns_locked();
	if (!is_mine())
		return;
	if (done)
		sys_no_maps = future;
	if (!ours)
		return;
	turns_take_at_last();
	if (!turns_locks()) {
		grow_again();
		/* Our thread comes back with the next record: a handler may have
		 * interrupted malloc, and a new thread allocates. Never where what is
		 * mapped now would be locked, as a thread's stack is. */
		if (!sys_no_maps)
			writer_unpause();
	}
	turns_give();
}

/* The limits, on data and on all, that were set last: what they leave to this spool has
 * been settled. A spool that comes later is made as large as the limits allow then. */
static struct {
	const uint8_t *spool;
	uint64_t bytes[2];
} settled = { .bytes = { UINT64_MAX, UINT64_MAX } };

/* A program that sets its limit before each task pays once. */
static bool is_settled(int resource, uint64_t bytes)
{
	return spool.base == settled.spool &&
	       bytes == settled.bytes[resource == RLIMIT_AS];
}

static void note_settled(int resource, uint64_t bytes)
{
	if (spool.base != settled.spool)
		settled.bytes[0] = settled.bytes[1] = UINT64_MAX;
	settled.spool = spool.base;
	settled.bytes[resource == RLIMIT_AS] = bytes;
}

/* False: it is too large still. */
static bool settle_spool(uint64_t room)
{
	bool done = false;

	if (small) {
		spool_bound(room);
		return true;
	}
	if (writer_pause()) {
		if (is_only_thread()) {
			shrink_stacks();
			heap_samples_shrink();
		}
		done = !spool.base || spool_shrink(room);
		if (done)
			spool_settle();
	}
	writer_unpause();
	return done;
}

/* A limit that is set now counts what is mapped already, and our mappings would use up
 * the program's share. So the spool shrinks to its part of the new limit, and for
 * good. */
void limits_limit(int resource, uint64_t bytes)
{
	uint64_t room;

	if (is_settled(resource, bytes) || !is_mine())
		return;
	if (bytes == UINT64_MAX) {
		note_settled(resource, bytes);
		return;
	}
	if (agent_midway()) {
		sys_scarce = true;
		return;
	}
	room = spool_room_below(resource, bytes);
	if (!turns_take())
		return;
	if (room >= (uint64_t)agent.config.buffer_mb << 20) {
		note_settled(resource, bytes);
	} else {
		sys_scarce = true;
		if (settle_spool(room))
			note_settled(resource, bytes);
	}
	turns_give();
}
