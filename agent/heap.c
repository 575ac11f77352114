/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap - malloc's hooks between the other parts: when they record, and what of ours they
 * must not see.
 *
 * What we do on a thread of the program's may allocate (a thread of ours is born, CUPTI
 * is switched on): thread_guard says that it is not the program.
 */
#include "agent/parts.h"

#include "agent/core/clock.h"
#include "agent/core/config_file.h"
#include "agent/core/fmt.h"
#include "agent/core/spool.h"
#include "agent/core/sys.h"
#include "agent/core/thread.h"
#include "agent/cupti/cupti.h"
#include "agent/hooks/heap.h"
#include "agent/hooks/unwind.h"
#include "agent/sched/sched.h"
#include "writer/writer.h"

#include <stddef.h>
#include <string.h>

extern char **environ;

static char facts[1024]; /* found once: to ask the linker is not for any moment */

static bool is_marker(const char *text)
{
	return !strncmp(agent.config.marker, text, strlen(text));
}

/* PROF_MALLOC_SEED makes samples the same in each run: for tests. */
static uint64_t seed(void)
{
	const char *text = config_getenv(environ, "PROF_MALLOC_SEED");
	uint64_t n = 0;

	if (!text || !*text)
		return clock_ticks() ^ (uint64_t)agent.pid << 32;
	for (; *text >= '0' && *text <= '9'; text++)
		n = n * 10 + (uint64_t)(*text - '0');
	return n;
}

/* Constructors after ours allocate, too: with marker none they are in the window. */
void agent_heap_start(void)
{
	heap_first = sched_follow_changed;
	heap_start(&agent.config, seed());
	if (!heap_wanted())
		return;
	if (heap_facts(facts, sizeof(facts)) >= sizeof(facts))
		facts[0] = 0;
	if (is_marker("none"))
		sched_main();
}

/* Without torch nobody else says when step 0 begins. */
void agent_heap_main(void)
{
	if (heap_wanted() && (is_marker("time:") || heap_asks_for("proflaunch_step")))
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
	heap_fork_child(agent.config.children && sched_begun());
	if (heap_wanted() && agent.config.malloc_stacks)
		unwind_fork_child();
}

/* ---- what must not be seen ---- */

void agent_heap_opened_now(void)
{
	uintptr_t guard = thread_guard;

	thread_guard = THREAD_OURS;
	heap_mark();
	cupti_now();
	thread_guard = guard;
}

void agent_heap_wants(void)
{
	uintptr_t guard = thread_guard;

	thread_guard = THREAD_OURS;
	writer_wanted();
	thread_guard = guard;
}

void agent_heap_wake(void)
{
	uintptr_t guard = thread_guard;

	thread_guard = THREAD_OURS;
	writer_wake();
	thread_guard = guard;
}

/* By the keeper. */
int64_t agent_heap_tick(void)
{
	thread_guard = THREAD_OURS;
	heap_tick();
	return sched_tick();
}
