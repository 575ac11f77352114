/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/follow_bench.h"
#include "tests/unit/said.h"

/* What a worker keeps, and what it says, when its leader is not as it should be. */

/* What is told of a window lies where one lay eight windows ago. */
START_TEST(a_new_window_has_no_end)
{
	start_child("active=1");
	for (unsigned i = 0; i < 8; i++)
		sched_step();
	ck_assert_uint_eq(atomic_load(&job_mine->window[1].cycle), 9);
	ck_assert_uint_eq(atomic_load(&job_mine->window[1].end), 0);
}
END_TEST

/* A spawned worker with a plan that records nothing yet: only its operators tell it. */
START_TEST(a_spawned_worker_is_watched_from_the_start)
{
	start_child("active=1,wait=5");
	ck_assert(did.observing);
}
END_TEST

START_TEST(a_leader_that_has_gone_leaves_the_window)
{
	start_child("active=1,wait=5");
	leader_opens(7, false);
	event();
	ck_assert_uint_eq(atomic_load(&spool.head->sched.windows), 0);
	atomic_store(&leader->pid, 0);
	atomic_store(&leader->gate, 8);
	event();
	is_cycle(1, CYCLE_SEALED, "");
	ck_assert_uint_eq(gate_cycle(), 0);
	ck_assert(!did.observing);
}
END_TEST

START_TEST(no_window_begins_before_its_process)
{
	start_child("active=1,wait=5");
	leader_opens(7, false);
	event();
	ck_assert_uint_gt(sched.begun, atomic_load(&leader->window[7].begin));
	ck_assert_uint_eq(cycle(1)->begin, sched.begun);
}
END_TEST

/* It slept while eight windows went by: what lies in that place is another one's. */
START_TEST(another_windows_end_is_not_ours)
{
	start_child("active=1,wait=5");
	atomic_store(&leader->boundaries, 1);
	leader_opens(7, false);
	event();
	leader_closes(7, FATE_KEPT);
	leader_opens(15, true);
	leader_closes(15, FATE_THROWN);
	event();
	is_cycle(1, CYCLE_SEALED, "");
}
END_TEST

START_TEST(the_finisher_knows_whose_window_ours_is_now)
{
	start_child("");
	event();
	leader_opens(3, true);
	event();
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_CHILD | CYCLE_PROVISIONAL);
	ck_assert_uint_eq(atomic_load(&job_mine->leads), 3);
	ck_assert_uint_eq(atomic_load(&job_mine->leader), (uint64_t)getppid() << 32);
}
END_TEST

START_TEST(time_alone_ends_no_leaders_window)
{
	start_child("");
	leader_opens(1, true);
	event();
	atomic_fetch_add(&cycle(1)->whys[DROP_CAP], 1);
	sched_tick();
	is_cycle(1, CYCLE_OPEN, "");
}
END_TEST

START_TEST(a_worker_that_leaves_keeps_no_more_than_its_leader)
{
	start_child("");
	leader_opens(1, true);
	event();
	atomic_store(&leader->boundaries, 2);
	leader_closes(1, FATE_THROWN);
	sched_leave();
	is_cycle(1, CYCLE_DISCARDED, "");
}
END_TEST

/* Its leader says it, where there is something to say. */
START_TEST(a_worker_does_not_call_its_window_provisional)
{
	start_child("");
	log_quiet = false;
	leader_opens(1, true);
	event();
	atomic_store(&leader->boundaries, 2);
	said_start();
	sched_exit();
	ck_assert_str_eq(said(), "");
	is_cycle(1, CYCLE_SEALED, "");
}
END_TEST

START_TEST(one_process_of_a_job_says_it_for_all)
{
	const char *text;

	start_child("");
	log_quiet = false;
	event();
	if (_i)
		atomic_store(&job->told, TOLD_PROVISIONAL);
	said_start();
	sched_exit();
	text = said();
	ck_assert_uint_eq(said_lines(text), !_i);
	ck_assert(_i || strstr(text, "so the whole run was kept as one step. Seen: "));
	ck_assert(atomic_load(&job->told) & TOLD_PROVISIONAL);
}
END_TEST

/* A child's first window has its parent's number; the step that is open is not its. */
START_TEST(a_child_ends_no_step_of_its_parents)
{
	start_child("active=5");
	event();
	is_cycle(1, CYCLE_OPEN, "0*");
	sched_fork_child();
	gate_set(0, 0);
	atomic_store(&spool.head->cycles, 0);
	leader_opens(7, false);
	event();
	ck_assert_uint_eq(gate_cycle(), 1);
	sched_exit();
	ck_assert_str_eq(steps(1), "0*");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("worker");

	tcase_add_test(tc, a_new_window_has_no_end);
	tcase_add_test(tc, a_spawned_worker_is_watched_from_the_start);
	tcase_add_test(tc, a_leader_that_has_gone_leaves_the_window);
	tcase_add_test(tc, no_window_begins_before_its_process);
	tcase_add_test(tc, another_windows_end_is_not_ours);
	tcase_add_test(tc, the_finisher_knows_whose_window_ours_is_now);
	tcase_add_test(tc, time_alone_ends_no_leaders_window);
	tcase_add_test(tc, a_worker_that_leaves_keeps_no_more_than_its_leader);
	tcase_add_test(tc, a_worker_does_not_call_its_window_provisional);
	tcase_add_loop_test(tc, one_process_of_a_job_says_it_for_all, 0, 2);
	tcase_add_test(tc, a_child_ends_no_step_of_its_parents);
	return unit_run(tc, "worker");
}
