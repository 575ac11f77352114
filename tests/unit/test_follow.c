/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/follow_bench.h"

START_TEST(a_worker_records_what_its_parent_records)
{
	uint64_t begin, end;

	start_child("active=1,wait=5");
	atomic_store(&leader->boundaries, 1);
	event();
	no_cycle(1);
	ck_assert(did.observing);
	leader_opens(7, false);
	begin = atomic_load(&leader->window[7].begin);
	event();
	ck_assert_uint_eq(gate_cycle(), 1);
	ck_assert_uint_eq(cycle(1)->begin, begin);
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_CHILD);
	end = leader_closes(7, 1);
	usleep(1000);
	sched_tick();
	is_cycle(1, CYCLE_SEALED, "");
	ck_assert_uint_eq(cycle(1)->end, end);
	leader_opens(8, false);
	sched_tick();
	no_cycle(2); /* nothing happens here */
	event();
	leader_closes(8, 1);
	leader_opens(9, false);
	event();
	is_cycle(2, CYCLE_SEALED, "");
	ck_assert_uint_eq(gate_cycle(), 3);
	sched_exit();
	is_cycle(3, CYCLE_SEALED, "");
	ck_assert_uint_eq(cycle(3)->flags, CYCLE_CHILD);
}
END_TEST

/* No event and no thread of ours sees it. */
START_TEST(a_worker_that_ends_later_ends_its_window_then)
{
	uint64_t end;

	start_child("active=1,wait=5");
	atomic_store(&leader->boundaries, 1);
	leader_opens(7, false);
	event();
	ck_assert_uint_eq(atomic_load(&job_mine->leads), 7);
	ck_assert_uint_eq(atomic_load(&job_mine->leader), (uint64_t)getppid() << 32);
	usleep(1000);
	end = leader_closes(7, 1);
	usleep(1000);
	if (_i) {
		sched_leave();
		is_cycle(1, CYCLE_OPEN, "");
	} else {
		sched_exit();
		is_cycle(1, CYCLE_SEALED, "");
	}
	ck_assert_uint_eq(cycle(1)->end, end);
}
END_TEST

START_TEST(what_the_finisher_keeps_stays)
{
	start_child("");
	event();
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_PROVISIONAL);
	if (_i)
		atomic_store(&job_mine->window[1].fate, FATE_KEPT);
	for (unsigned i = 0; i < 7; i++)
		iteration();
	is_cycle(1, _i ? CYCLE_SEALED : CYCLE_DISCARDED, "0 1");
	is_cycle(2, CYCLE_SEALED, "2 3 4");
	ck_assert_uint_eq(atomic_load(&job_mine->leader), 0);
}
END_TEST

START_TEST(what_the_parent_throws_away_the_worker_does_too)
{
	start_child("");
	leader_opens(1, true);
	event();
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_CHILD | CYCLE_PROVISIONAL);
	atomic_store(&leader->boundaries, 2);
	leader_closes(1, 2);
	event();
	is_cycle(1, CYCLE_DISCARDED, "");
}
END_TEST

START_TEST(a_first_boundary_makes_a_driver)
{
	start_child("");
	leader_opens(1, true);
	event();
	for (unsigned i = 0; i < 7; i++)
		iteration();
	is_cycle(1, CYCLE_DISCARDED, "0 1");
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_PROVISIONAL);
	is_cycle(2, CYCLE_SEALED, "2 3 4");
	ck_assert_uint_eq(cycle(2)->flags, 0);
	ck_assert_uint_eq(atomic_load(&job_mine->boundaries), 6);
	leader_closes(1, 2);
	ck_assert_uint_eq(atomic_load(sched_follow), sched_followed);
}
END_TEST

START_TEST(a_drivers_own_plan_decides_what_it_keeps)
{
	start_child(_i ? "wait=1,active=1" : "active=2");
	leader_opens(1, false);
	event();
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_CHILD);
	iteration();
	annotation(NEXT);
	if (_i) {
		is_cycle(1, CYCLE_DISCARDED, "");
		is_cycle(2, CYCLE_OPEN, "1*");
	} else {
		is_cycle(1, CYCLE_OPEN, "0 1*");
		ck_assert_uint_eq(cycle(1)->flags, 0);
		ck_assert_int_eq(cycle(1)->first_step, 0);
	}
	ck_assert_uint_eq(atomic_load(&spool.head->sched.windows), _i);
}
END_TEST

/* The leader may still throw its own away: whoever looks at ours need not wait. */
START_TEST(a_drivers_own_window_is_kept_from_then_on)
{
	start_child("active=9");
	leader_opens(1, true);
	event();
	ck_assert_uint_eq(atomic_load(&job_mine->window[1].fate), FATE_OPEN);
	iteration();
	annotation(NEXT);
	ck_assert_uint_eq(atomic_load(&job_mine->window[1].fate), FATE_KEPT);
}
END_TEST

START_TEST(a_parent_that_only_imports_torch_leads_nobody)
{
	start_child("");
	event();
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_PROVISIONAL);
	sched_exit();
	is_cycle(1, CYCLE_SEALED, "0");
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_PROVISIONAL);
}
END_TEST

START_TEST(a_parent_without_boundaries_leaves_the_window_to_us)
{
	start_child("");
	leader_opens(1, true);
	event();
	sched_exit();
	is_cycle(1, CYCLE_SEALED, "");
	ck_assert_uint_eq(cycle(1)->flags & CYCLE_CHILD, 0);
}
END_TEST

START_TEST(a_parent_between_two_windows_leads)
{
	start_child("active=9");
	atomic_store(&leader->boundaries, 1);
	event();
	no_cycle(1);
	leader_opens(3, false);
	event();
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_CHILD);
}
END_TEST

/* It ends just as we join it: its end is said before its number changes. */
START_TEST(no_window_ends_before_it_begins)
{
	start_child("active=1,wait=5");
	atomic_store(&leader->boundaries, 1);
	leader_opens(7, false);
	atomic_store(&leader->window[7].end, clock_ticks());
	usleep(1000);
	event();
	ck_assert_uint_eq(gate_cycle(), 1);
	usleep(1000);
	atomic_store(&leader->gate, 0);
	event();
	is_cycle(1, CYCLE_SEALED, "");
	ck_assert_uint_gt(cycle(1)->end, cycle(1)->begin);
}
END_TEST

START_TEST(a_parent_that_opens_later_leads)
{
	start_child("active=1");
	event();
	is_cycle(1, CYCLE_OPEN, "0*");
	leader_opens(3, false);
	event();
	is_cycle(1, CYCLE_DISCARDED, "0");
	ck_assert_uint_eq(cycle(2)->flags, CYCLE_CHILD);
}
END_TEST

/* Its place on the page may be somebody else's by now, who has windows as well. */
START_TEST(who_has_the_leaders_place_is_not_followed)
{
	start_child("active=1,wait=5");
	atomic_store(&leader->boundaries, 1);
	leader_opens(7, false);
	event();
	ck_assert_uint_eq(gate_cycle(), 1);
	atomic_store(&leader->pid, 4711);
	leader_opens(8, false);
	event();
	is_cycle(1, CYCLE_SEALED, "");
	no_cycle(2);
	ck_assert_uint_eq(gate_cycle(), 0);
	leader_opens(9, false);
	event();
	no_cycle(2);
}
END_TEST

START_TEST(a_driver_tells_its_followers)
{
	struct job_window *w;

	start_child("active=1,wait=1");
	sched_step();
	ck_assert_uint_eq(atomic_load(&job_mine->gate), 1);
	w = &job_mine->window[1];
	ck_assert_uint_eq(atomic_load(&w->cycle), 1);
	ck_assert_uint_eq(atomic_load(&w->fate), 1);
	ck_assert_uint_eq(atomic_load(&w->end), 0);
	sched_step();
	ck_assert_uint_eq(atomic_load(&job_mine->gate), 0);
	ck_assert_uint_eq(atomic_load(&w->end), cycle(1)->end);
	ck_assert_uint_eq(atomic_load(&job_mine->boundaries), 2);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("follow");

	tcase_add_test(tc, a_worker_records_what_its_parent_records);
	tcase_add_loop_test(tc, a_worker_that_ends_later_ends_its_window_then, 0, 2);
	tcase_add_loop_test(tc, what_the_finisher_keeps_stays, 0, 2);
	tcase_add_test(tc, what_the_parent_throws_away_the_worker_does_too);
	tcase_add_test(tc, a_first_boundary_makes_a_driver);
	tcase_add_loop_test(tc, a_drivers_own_plan_decides_what_it_keeps, 0, 2);
	tcase_add_test(tc, a_parent_that_only_imports_torch_leads_nobody);
	tcase_add_test(tc, a_parent_without_boundaries_leaves_the_window_to_us);
	tcase_add_test(tc, a_parent_between_two_windows_leads);
	tcase_add_test(tc, no_window_ends_before_it_begins);
	tcase_add_test(tc, a_parent_that_opens_later_leads);
	tcase_add_test(tc, who_has_the_leaders_place_is_not_followed);
	tcase_add_test(tc, a_driver_tells_its_followers);
	tcase_add_test(tc, a_drivers_own_window_is_kept_from_then_on);
	return unit_run(tc, "follow");
}
