/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sched/early.h"
#include "tests/unit/follow_bench.h"

static void pass(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sched_step();
}

START_TEST(the_last_early_window_stays_when_the_plan_is_not_reached)
{
	start("wait=100,active=5", "auto");
	pass(12);
	is_cycle(1, CYCLE_DISCARDED, "1");
	is_cycle(2, CYCLE_DISCARDED, "2 3");
	is_cycle(3, CYCLE_DISCARDED, "4 5 6");
	is_cycle(4, CYCLE_OPEN, "8 9 10");
	ck_assert_uint_eq(gate_cycle(), 0);
	ck_assert_uint_ne(cycle(4)->end, 0);
	sched_exit();
	is_cycle(4, CYCLE_SEALED, "8 9 10");
	no_cycle(5);
	ck_assert_uint_eq(cycle(4)->flags, CYCLE_PROVISIONAL | CYCLE_EARLY);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.windows), 0);
	ck_assert_uint_eq(did.arm, 4); /* each is announced a step before */
}
END_TEST

START_TEST(it_goes_when_the_plan_begins)
{
	start("wait=9,warmup=1,active=1,repeat=1", "auto");
	pass(40);
	is_cycle(4, CYCLE_DISCARDED, "8");
	is_cycle(5, CYCLE_SEALED, "10");
	no_cycle(6);
	sched_exit();
	is_cycle(4, CYCLE_DISCARDED, "8");
}
END_TEST

START_TEST(it_ends_where_the_plan_warms_up)
{
	start("wait=5,warmup=3,active=1", "auto");
	pass(7);
	is_cycle(3, CYCLE_OPEN, "4");
	ck_assert_uint_eq(gate_cycle(), 0);
	sched_exit();
	is_cycle(3, CYCLE_SEALED, "4");
}
END_TEST

START_TEST(one_without_a_whole_step_gives_way)
{
	start("wait=100,active=3", "auto");
	pass(8);
	is_cycle(4, CYCLE_OPEN, "8*");
	sched_exit();
	is_cycle(3, CYCLE_SEALED, "4 5 6");
	is_cycle(4, CYCLE_DISCARDED, "8");
}
END_TEST

START_TEST(one_with_a_whole_step_stays)
{
	start("wait=100,active=3", "auto");
	pass(9);
	sched_exit();
	is_cycle(3, CYCLE_DISCARDED, "4 5 6");
	is_cycle(4, CYCLE_SEALED, "8 9");
}
END_TEST

START_TEST(the_first_stays_whole_or_not)
{
	start("wait=100,active=3", "auto");
	pass(1);
	sched_exit();
	is_cycle(1, CYCLE_SEALED, "1");
	no_cycle(2);
}
END_TEST

/* recover takes what is open: of two one is thrown away by a store. */
START_TEST(an_exit_without_handlers_leaves_one)
{
	start("wait=100,active=3", "auto");
	pass(9);
	sched_leave();
	is_cycle(3, CYCLE_DISCARDED, "4 5 6");
	is_cycle(4, CYCLE_OPEN, "8 9*");
}
END_TEST

START_TEST(an_exit_without_handlers_leaves_the_whole_one)
{
	start("wait=100,active=3", "auto");
	pass(8);
	sched_leave();
	is_cycle(3, CYCLE_OPEN, "4 5 6");
	is_cycle(4, CYCLE_DISCARDED, "8*");
}
END_TEST

START_TEST(a_full_buffer_ends_them_all)
{
	start("wait=20,active=3", "auto");
	pass(4);
	atomic_fetch_add(&cycle(3)->whys[DROP_CAP], 1);
	sched_tick();
	is_cycle(3, CYCLE_DISCARDED, "4");
	ck_assert_uint_eq(gate_cycle(), 0);
	pass(15);
	no_cycle(4);
	pass(1);
	is_cycle(4, CYCLE_OPEN, "20*");
}
END_TEST

START_TEST(a_long_wait_ends_the_open_one)
{
	start("wait=100,active=3", "auto");
	pass(4);
	atomic_store(&sched.last, 1);
	sched_tick();
	ck_assert_uint_eq(gate_cycle(), 0);
	is_cycle(3, CYCLE_OPEN, "4");
	pass(4);
	is_cycle(4, CYCLE_OPEN, "8*");
	is_cycle(3, CYCLE_OPEN, "4");
}
END_TEST

/* A worker of the program's own shall not record what nobody will look at. */
START_TEST(nobody_follows_them)
{
	start_child("wait=5,active=3");
	pass(4);
	ck_assert_uint_eq(gate_cycle(), 3);
	ck_assert_uint_eq(atomic_load(&job_mine->gate), 0);
	pass(1);
	ck_assert_uint_eq(gate_cycle(), 4);
	ck_assert_uint_eq(atomic_load(&job_mine->gate), 4);
}
END_TEST

START_TEST(there_are_none_without_a_plan)
{
	start("", "auto");
	sched_torch_found();
	event();
	pass(1);
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_PROVISIONAL);
	no_cycle(2);
}
END_TEST

START_TEST(a_child_begins_anew)
{
	start("wait=100,active=3", "auto");
	pass(12);
	cycle_fork_child();
	ck_assert_ptr_null(cycle_held);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("early");

	tcase_add_test(tc, the_last_early_window_stays_when_the_plan_is_not_reached);
	tcase_add_test(tc, it_goes_when_the_plan_begins);
	tcase_add_test(tc, it_ends_where_the_plan_warms_up);
	tcase_add_test(tc, one_without_a_whole_step_gives_way);
	tcase_add_test(tc, one_with_a_whole_step_stays);
	tcase_add_test(tc, the_first_stays_whole_or_not);
	tcase_add_test(tc, an_exit_without_handlers_leaves_one);
	tcase_add_test(tc, an_exit_without_handlers_leaves_the_whole_one);
	tcase_add_test(tc, a_full_buffer_ends_them_all);
	tcase_add_test(tc, a_long_wait_ends_the_open_one);
	tcase_add_test(tc, nobody_follows_them);
	tcase_add_test(tc, there_are_none_without_a_plan);
	tcase_add_test(tc, a_child_begins_anew);
	return unit_run(tc, "early");
}
