/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_heap - malloc's hooks between the other parts: when they record, and which
 * allocations of ours they must not see.
 *
 * What we do on a thread of the program's may allocate (a thread of ours is born, CUPTI
 * is switched on): guard_word says that the program does not.
 */
#include "agent/agent.h"

#include "agent/core/clock.h"
#include "agent/core/spool.h"
#include "agent/core/thread.h"
#include "agent/cupti/cupti.h"
#include "agent/heap/heap.h"
#include "agent/sched/sched.h"
#include "agent/unwind/unwind.h"
#include "base/seldom.h"
#include "config/config_file.h"
#include "writer/writer.h"

#include <string.h>

extern char **environ;

/* Found at the start: later the linker may not be asked. */
static SELDOM char facts[1024];

/* PROF_MALLOC_SEED makes samples the same in each run: for tests. */
static uint64_t sample_seed(void)
{
	const char *text = config_getenv(environ, "PROF_MALLOC_SEED");
	uint64_t n = 0;

	if (!text || !*text)
		return clock_ticks() ^ (uint64_t)agent.pid << 32;
	for (; *text >= '0' && *text <= '9'; text++)
		n = n * 10 + (uint64_t)(*text - '0');
	return n;
}

/* Constructors after ours allocate, too: where the run is one window it holds those. */
void agent_heap_start(bool (*begin)(void))
{
	heap_first = sched_first_block;
	heap_start(&agent.config, sample_seed());
	if (!heap_wanted())
		return;
	if (heap_facts(facts, sizeof(facts)) >= sizeof(facts))
		facts[0] = 0;
	if (sched_is_whole())
		sched_main(!heap_doze());
	if (agent.config.malloc_since && heap_samples())
		begin(); /* what is counted from the start lies in the spool */
}

/* Without torch only the heap says when step 0 begins. */
void agent_heap_main(void)
{
	if (heap_wanted() && (config_marker_is(&agent.config, MARKER_BY_TIME) ||
			      heap_asks_for("proflaunch_step")))
		sched_used();
}

void agent_heap_symbol(const char *name)
{
	if (!strcmp(name, "proflaunch_step") && heap_wanted())
		sched_used();
}

void agent_heap_fact(void)
{
	if (*facts)
		spool_fact("heap", facts);
}

/* A child whose parent records does so, too, from its first call on. */
void agent_heap_fork_child(void)
{
	/* A parent that waits for its first sample counts as one that records, and so
	 * does a child that forks, as daemons do, before its first call. */
	heap_fork_child(agent.config.children &&
			(sched_begun() || heap_is_dozing() || heap_is_asleep()));
	if (CONFIG_HAS(agent.config.native_stacks, NATIVE_OPS) ||
	    (heap_wanted() && CONFIG_HAS(agent.config.native_stacks, NATIVE_MALLOC)))
		unwind_fork_child();
}

void agent_heap_off(void)
{
	heap_fork_child(false);
}

/* ---- what must not be seen ---- */

void agent_heap_opened_now(void)
{
	uintptr_t guard = guard_enter();

	heap_mark();
	cupti_now();
	guard_leave(guard);
}

void agent_heap_wants(void)
{
	uintptr_t guard = guard_enter();

	writer_wanted();
	guard_leave(guard);
}

void agent_heap_wake(void)
{
	uintptr_t guard = guard_enter();

	writer_wake();
	guard_leave(guard);
}

/* The keeper calls this. */
int64_t agent_heap_tick(void)
{
	guard_word = GUARD_OURS;
	return sched_tick();
}

/* The sampler calls this. */
void agent_heap_sample(void)
{
	guard_word = GUARD_OURS;
	heap_tick();
}
