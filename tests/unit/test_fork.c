/* SPDX-License-Identifier: Apache-2.0 */
/* What a fork child asks for at once, because nobody will ask later. */
#include "tests/unit/agent_bench.h"

static bool known; /* torch, before the fork */
static unsigned needs;

static bool is_known(void)
{
	return known;
}

static void note_need(void)
{
	needs++;
}

static bool counts; /* the interpreter does, after a fork */
static unsigned others = 1, wakes;
static int (*later)(void *); /* what the interpreter is to call */

static bool counts_threads(void)
{
	return counts;
}

static unsigned count_others(void)
{
	return others;
}

static bool needs_keeper(void)
{
	return true;
}

static void note_wake(void)
{
	wakes++;
}

static bool keep_call(int (*call)(void *))
{
	later = call;
	return true;
}

#define torch_known            is_known
#define writer_need            note_need
#define writer_unpause         needs_keeper
#define writer_wake            note_wake
#define pending_counts_threads counts_threads
#define pending_after          keep_call
#define own_thread_others      count_others
#include "agent/fork.c"
#undef torch_known
#undef writer_need
#undef writer_unpause
#undef writer_wake
#undef pending_counts_threads
#undef pending_after
#undef own_thread_others

static int needs_of_child(void)
{
	int status;
	pid_t pid;

	needs = 0;
	fork_prepare();
	pid = fork();
	if (!pid) {
		fork_child();
		_exit((int)needs);
	}
	fork_parent();
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(a_child_has_cost_nothing_so_far)
{
	struct rare rare;
	int status;
	pid_t pid;

	begin();
	rare_begin(&rare);
	sys_nap(500000000);
	rare_end(&rare);
	pid = fork();
	if (!pid) {
		fork_child();
		_exit(rare_take() >= 500000000);
	}
	ck_assert_uint_ge(rare_take(), 500000000);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && !WEXITSTATUS(status));
}
END_TEST

/* A rank that was forked: its library was met in its parent, and is not met again. */
START_TEST(a_child_with_torch_has_a_keeper)
{
	begin();
	known = true;
	ck_assert_int_eq(needs_of_child(), 1);
	ck_assert_uint_eq(needs, 0);
	known = false;
	ck_assert_int_eq(needs_of_child(), 0);
}
END_TEST

START_TEST(a_child_that_records_nothing_has_none)
{
	configure();
	agent.config.children = CHILDREN_OFF;
	place();
	ck_assert(agent_begin());
	known = true;
	ck_assert_int_eq(needs_of_child(), 0);
}
END_TEST

/* Python counts them between our handler and the end of os.fork. */
START_TEST(a_keeper_is_back_after_threads_are_counted)
{
	begin();
	counts = true;
	fork_prepare();
	fork_parent();
	ck_assert_uint_eq(wakes, 0);
	ck_assert(later && !later(NULL));
	ck_assert_uint_eq(wakes, 1);
}
END_TEST

/* The main thread, which would make the call, may wait for ever. */
START_TEST(a_keeper_is_back_at_once_elsewhere)
{
	begin();
	fork_prepare();
	fork_parent();
	counts = true;
	others = 2;
	fork_prepare();
	fork_parent();
	ck_assert_uint_eq(wakes, 2);
	ck_assert(!later);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("fork");

	tcase_add_test(tc, a_child_has_cost_nothing_so_far);
	tcase_add_test(tc, a_child_with_torch_has_a_keeper);
	tcase_add_test(tc, a_child_that_records_nothing_has_none);
	tcase_add_test(tc, a_keeper_is_back_after_threads_are_counted);
	tcase_add_test(tc, a_keeper_is_back_at_once_elsewhere);
	return unit_run(tc, "fork");
}
