/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent asks of the heap, and when. */
#include "agent/heap/mode.h"
#include "agent/sched/state.h"
#include "tests/unit/agent_bench.h"

/* What is allocated before main is counted from then on, if that was asked for. */
START_TEST(since_the_start_is_since_the_start)
{
	configure();
	ck_assert_ptr_null(config_set(&agent.config, "malloc", "count"));
	agent.config.malloc_since = (uint32_t)_i;
	place();
	agent_heap_start(agent_begin);
	ck_assert_uint_eq(agent.state, _i ? AGENT_READY : AGENT_FRESH);
}
END_TEST

/* A container's processes have the same few pids each time. */
START_TEST(samples_are_others_each_time)
{
	uint64_t seed;

	configure();
	ck_assert_ptr_null(config_set(&agent.config, "malloc", "sample"));
	place();
	agent_heap_start(agent_begin);
	seed = heap_settings.seed;
	agent_heap_start(agent_begin);
	ck_assert_uint_ne(heap_settings.seed, seed);
	setenv("PROF_MALLOC_SEED", "4711", 1);
	agent_heap_start(agent_begin);
	ck_assert_uint_eq(heap_settings.seed, 4711);
}
END_TEST

/* A child records from its first call on where its parent records, and only there. */
START_TEST(a_child_waits_as_its_parent_does)
{
	configure();
	ck_assert_ptr_null(config_set(&agent.config, "malloc", "count"));
	agent.config.children = _i & 2 ? CHILDREN_ON : CHILDREN_OFF;
	place();
	heap_settings.mode = HEAP_COUNT;
	atomic_store(&heap_real.mode, HEAP_IDLE);
	atomic_store(&sched.life, _i & 1 ? LIFE_ON : LIFE_NONE);
	agent_heap_fork_child();
	ck_assert_uint_eq(heap_mode(), _i == 3 ? HEAP_ASLEEP : HEAP_IDLE);
	/* A daemon's second fork, before its first call. */
	atomic_store(&sched.life, LIFE_NONE);
	agent_heap_fork_child();
	ck_assert_uint_eq(heap_mode(), _i == 3 ? HEAP_ASLEEP : HEAP_IDLE);
}
END_TEST

START_TEST(what_we_do_is_not_the_programs)
{
	begin();
	guard_word = 0x770;
	agent_heap_wants();
	ck_assert_uint_eq(guard_word, 0x770);
	agent_heap_wake();
	ck_assert_uint_eq(guard_word, 0x770);
	guard_word = 0;
	agent_heap_tick(); /* by a thread that is ours */
	ck_assert_uint_eq(guard_word, GUARD_OURS);
	guard_word = 0;
	agent_heap_sample();
	ck_assert_uint_eq(guard_word, GUARD_OURS);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("agent heap");

	unit_not_under_thread_sanitizer(
		"it does not know tasks that share its thread's data");
	tcase_add_loop_test(tc, since_the_start_is_since_the_start, 0, 2);
	tcase_add_test(tc, samples_are_others_each_time);
	tcase_add_loop_test(tc, a_child_waits_as_its_parent_does, 0, 4);
	tcase_add_test(tc, what_we_do_is_not_the_programs);
	return unit_run(tc, "agent heap");
}
