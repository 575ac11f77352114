/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent makes of what its hooks are told: which part hears of it, and of what.
 */
#include "agent/torch/abi.h"

#include <stdio.h>

static bool is_settled(bool inputs);

#define agent_heap_main   hear_main_of_heap
#define agent_heap_symbol hear_symbol_of_heap
#define abi_settled       is_settled
#define wire_gpu_collect  collect_gpu
#define wire_gpu_look     look_at_gpu
#define wire_gpu_profile  profile_gpu
#define wire_gpu_symbol   hear_symbol_of_gpu
#define adds_count        count_adds
#define loader_busy       is_busy
#define sched_backward    hear_backward
#define sched_collect     collect_steps
#define sched_library     look_for_function
#define sched_main        hear_main
#define sched_usage       hear_usage
#define sched_torch_found hear_torch
#define spool_fact        note_fact
#define torch_collect     collect_torch
#define torch_found       find_torch
#define agent_begin       begin_agent
#define agent_ranks       note_ranks
#define writer_need       need_writer
#include "agent/agent.c"
#include "agent/facts.c"
#include "agent/library.c"
#undef spool_fact
#undef abi_settled
#include "tests/unit/unit.h"

static char heard[512];

static void hear(const char *text)
{
	strncat(heard, text, sizeof(heard) - strlen(heard) - 1);
}

#define ck_heard(text)                         \
	do {                                   \
		ck_assert_str_eq(heard, text); \
		heard[0] = '\0';               \
	} while (0)

#define HEAR_SWITCH(name, text)                          \
	void name(bool on)                               \
	{                                                \
		hear(on ? text " on, " : text " off, "); \
	}
#define HEAR(name, text)         \
	void name(void)          \
	{                        \
		hear(text ", "); \
	}

HEAR_SWITCH(collect_gpu, "gpu")
HEAR_SWITCH(collect_steps, "steps")
HEAR_SWITCH(collect_torch, "torch")
HEAR_SWITCH(hear_main, "main")
HEAR(hear_main_of_heap, "main of heap")
HEAR(look_at_gpu, "look at gpu")
HEAR(hear_backward, "backward")
HEAR(look_for_function, "library")
HEAR(hear_torch, "torch")
HEAR(note_ranks, "ranks")
HEAR(need_writer, "writer")

void hear_usage(const char *event)
{
	hear("usage ");
	hear(event);
	hear(", ");
}

static bool torch, begins = true, settled, busy;
static unsigned long long adds = 1;
static struct spool_header head;
static void *python;

bool find_torch(void)
{
	return torch;
}

bool begin_agent(void)
{
	return begins;
}

static bool is_settled(bool inputs)
{
	(void)inputs;
	return settled;
}

bool is_busy(void)
{
	return busy;
}

unsigned long long count_adds(void)
{
	return adds;
}

void profile_gpu(bool cuda, bool begins_now)
{
	hear(begins_now ? "profiler begins" : "profiler ends");
	hear(cuda ? " with cuda, " : ", ");
}

void hear_symbol_of_gpu(const char *name)
{
	(void)name;
}

void hear_symbol_of_heap(const char *name)
{
	(void)name;
}

void note_fact(const char *key, const char *json)
{
	ck_assert_int_eq(json[0], '{');
	hear(key);
	hear(" fact, ");
}

static void *find_python(void *handle, const char *name)
{
	(void)handle;
	return strcmp(name, "Py_IsInitialized") ? NULL : python;
}

static void begin(void)
{
	config_defaults(&agent.config);
	agent.on = true;
	spool.head = &head;
	hook_real_dlsym = find_python;
	heard[0] = '\0';
}

/* ---- switches ---- */

START_TEST(a_part_is_switched_alone)
{
	on_toggle(HOOK_ACTIVITY_CPU, false);
	ck_heard("torch off, steps off, ");
	on_toggle(HOOK_ACTIVITY_CUDA, false);
	ck_heard("gpu off, ");
	on_toggle(HOOK_ACTIVITY_CPU | HOOK_ACTIVITY_CUDA, true);
	ck_heard("torch on, steps on, gpu on, ");
	on_toggle(0, true);
	on_toggle(4, true);
	ck_heard("");
	proflaunch_collect(PROFLAUNCH_CPU, 0);
	ck_heard("torch off, steps off, ");
	proflaunch_collect(PROFLAUNCH_CUDA, 2);
	ck_heard("gpu on, ");
	agent.on = false;
	on_toggle(HOOK_ACTIVITY_CPU | HOOK_ACTIVITY_CUDA, true);
	proflaunch_collect(PROFLAUNCH_CPU | PROFLAUNCH_CUDA, 1);
	ck_heard("");
}
END_TEST

START_TEST(a_profiler_of_the_gpu_is_told_apart)
{
	on_profile(HOOK_ACTIVITY_CPU | HOOK_ACTIVITY_CUDA, true);
	ck_heard("profiler begins with cuda, ");
	on_profile(HOOK_ACTIVITY_CPU, true);
	ck_heard("profiler begins, ");
	on_profile(HOOK_ACTIVITY_CUDA, false);
	ck_heard("profiler ends, ");
	agent.on = false;
	on_profile(HOOK_ACTIVITY_CUDA, true);
	ck_heard("");
}
END_TEST

START_TEST(what_torch_calls_is_heard)
{
	on_backward();
	on_usage("python.optimizer");
	ck_heard("backward, usage python.optimizer, ");
	agent.on = false;
	on_backward();
	on_usage("python.optimizer");
	ck_heard("");
}
END_TEST

/* ---- torch ---- */

START_TEST(torch_is_found_once)
{
	torch = true;
	look_for_torch();
	ck_heard("writer, look at gpu, ranks, torch fact, torch, ");
	look_for_torch();
	ck_heard("");
}
END_TEST

START_TEST(torch_is_not_there_yet)
{
	look_for_torch();
	ck_heard("");
	torch = true;
	begins = false;
	look_for_torch();
	ck_heard("");
}
END_TEST

/* At each window's end, until there is nothing more to learn. */
START_TEST(facts_are_told_until_all_is_known)
{
	agent_facts();
	ck_heard("");
	torch = true;
	agent_facts();
	ck_heard("ranks, torch fact, ");
	agent_facts();
	ck_heard("ranks, torch fact, ");
	spool.head = NULL;
	agent_facts();
	ck_heard("");
	spool.head = &head;
	settled = true;
	agent_facts();
	ck_heard("ranks, torch fact, ");
	agent_facts();
	ck_heard("");
	agent_facts_forget();
	atomic_store(&facts_busy, true); /* another thread is at it */
	agent_facts();
	ck_heard("");
}
END_TEST

/* ---- when to look ---- */

START_TEST(what_the_program_is_linked_with_is_looked_at_before_main)
{
	on_main();
	ck_heard("main off, main of heap, ");
	library_symbol("cos");
	ck_heard("");
	adds++;
	library_symbol("cos");
	ck_heard("library, ");
}
END_TEST

START_TEST(a_library_is_looked_at_once_it_is_used)
{
	library_symbol("cos");
	ck_heard("library, ");
	library_symbol("sin");
	ck_heard("");
	adds++;
	busy = true; /* in the middle of dlopen */
	library_symbol("sin");
	ck_heard("");
	busy = false;
	library_symbol("sin");
	ck_heard("library, ");
	adds++;
	python = &python; /* its importer says when */
	library_symbol("sin");
	library_symbol("PyInit");
	ck_heard("");
	busy = true;
	library_symbol("PyInit__C");
	ck_heard("library, ");
	adds++;
	agent.on = false;
	library_symbol("PyInit__C");
	ck_heard("");
}
END_TEST

START_TEST(main_is_heard)
{
	torch = true;
	begins = false;
	on_main();
	ck_heard("main off, main of heap, ");
	agent.on = false;
	on_main();
	ck_heard("");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("agent wires");

	tcase_add_checked_fixture(tc, begin, NULL);
	tcase_add_test(tc, a_part_is_switched_alone);
	tcase_add_test(tc, a_profiler_of_the_gpu_is_told_apart);
	tcase_add_test(tc, what_torch_calls_is_heard);
	tcase_add_test(tc, torch_is_found_once);
	tcase_add_test(tc, torch_is_not_there_yet);
	tcase_add_test(tc, facts_are_told_until_all_is_known);
	tcase_add_test(tc, what_the_program_is_linked_with_is_looked_at_before_main);
	tcase_add_test(tc, a_library_is_looked_at_once_it_is_used);
	tcase_add_test(tc, main_is_heard);
	return unit_run(tc, "agent wires");
}
