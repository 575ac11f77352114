/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of the process and of a thread before anything of ours has run there. */
#include "agent/agent.h"
#include "base/guard.h"
#include "tests/unit/unit.h"

#include <pthread.h>

START_TEST(without_a_constructor_the_agent_is_off)
{
	static const struct agent nothing;

	ck_assert_uint_eq(agent.state, AGENT_FRESH);
	ck_assert_uint_eq(agent.pid, 0);
	ck_assert(!agent.on);
	ck_assert_mem_eq(&agent.config, &nothing.config, sizeof(agent.config));
}
END_TEST

static void *look(void *at)
{
	*(uintptr_t *)at = guard_word;
	guard_enter();
	return NULL;
}

START_TEST(a_thread_begins_as_the_programs)
{
	uintptr_t word = 77;
	pthread_t t;

	ck_assert_uint_eq(guard_enter(), 0);
	ck_assert_uint_eq(guard_word, GUARD_OURS);
	ck_assert_int_eq(pthread_create(&t, NULL, look, &word), 0);
	pthread_join(t, NULL);
	ck_assert_uint_eq(word, 0);
	ck_assert_uint_eq(guard_word, GUARD_OURS);
	/* One of ours within one of ours, and that within a hooked call. */
	guard_leave(guard_enter());
	ck_assert_uint_eq(guard_word, GUARD_OURS);
	guard_leave(0x1000);
	ck_assert_uint_eq(guard_enter(), 0x1000);
	guard_leave(0);
	ck_assert_uint_eq(guard_word, 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("state");

	tcase_add_test(tc, without_a_constructor_the_agent_is_off);
	tcase_add_test(tc, a_thread_begins_as_the_programs);
	return unit_run(tc, "state");
}
