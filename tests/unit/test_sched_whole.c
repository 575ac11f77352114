/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/job.h"
#include "tests/unit/said.h"
#include "tests/unit/sched_bench.h"

#include <stdlib.h>

/* The heap without a marker: one window, until something has steps. */

#define MEANWHILE (CYCLE_WHOLE | CYCLE_PROVISIONAL)

static void start_heap(const char *marker)
{
	heap_records = true;
	start("", marker);
}

static void is_open_and_whole(unsigned number)
{
	ck_assert_uint_eq(gate_cycle(), number);
	ck_assert_uint_eq(cycle(number)->flags, MEANWHILE);
	ck_assert_uint_eq(atomic_load(&cycle(number)->state), CYCLE_OPEN);
	ck_assert_uint_eq(atomic_load(&spool.head->meanwhile), 1);
}

START_TEST(the_run_is_one_window)
{
	said_start();
	start_heap("auto");
	log_quiet = false;
	is_open_and_whole(1);
	ck_assert_uint_eq(cycle(1)->begin, sched.main_ticks);
	sched_first_block();
	sched_exit();
	is_cycle(1, CYCLE_SEALED, "");
	no_cycle(2);
	ck_assert_str_eq(said(), "");
}
END_TEST

/* What is named waits for what it names. */
START_TEST(who_names_a_marker_gets_its_steps)
{
	static const char *const marker[] = { "torch:*", "cuda:*", "symbol:f" };

	start_heap(marker[_i]);
	no_cycle(1);
	ck_assert(!sched_is_whole());
}
END_TEST

static void torch_comes(void)
{
	sched_torch_found();
}

static void a_step_comes(void)
{
	sched_step();
}

static void (*const met[])(void) = { torch_comes, sched_used, a_step_comes };

START_TEST(what_has_steps_ends_it)
{
	start_heap("auto");
	met[_i]();
	is_cycle(1, CYCLE_DISCARDED, "");
	ck_assert_uint_eq(atomic_load(&spool.head->meanwhile), 0);
	ck_assert_uint_eq(atomic_load(&spool.head->totals.discarded), 1);
	event();
	ck_assert_uint_eq(gate_cycle(), 2);
	ck_assert_uint_eq(cycle(2)->flags, CYCLE_PROVISIONAL);
	ck_assert_uint_ge(cycle(2)->begin, cycle(1)->end);
	sched_exit();
	is_cycle(2, CYCLE_SEALED, _i == 2 ? "0 1" : "0");
}
END_TEST

/* Torch is there, and its first operator is not: the heap does not begin step 0. */
START_TEST(torch_is_waited_for)
{
	start_heap("auto");
	sched_torch_found();
	ck_assert_uint_eq(gate_cycle(), 0);
	ck_assert(!sched_begun());
	ck_assert(!sched_is_whole());
	sched_exit();
	no_cycle(2);
}
END_TEST

/* ---- a job of many processes ---- */

START_TEST(where_another_process_has_torch_nothing_is_kept)
{
	job = calloc(1, sizeof(*job));
	if (_i)
		atomic_store(&job->told, JOB_TOLD_TORCH);
	start_heap("auto");
	if (_i) {
		no_cycle(1);
		return;
	}
	is_open_and_whole(1);
	atomic_store(&job->told, JOB_TOLD_TORCH);
	sched_exit();
	is_cycle(1, CYCLE_DISCARDED, "");
}
END_TEST

START_TEST(nor_by_who_leaves_without_a_word)
{
	job = calloc(1, sizeof(*job));
	start_heap("auto");
	sched_leave();
	ck_assert_uint_eq(atomic_load(&cycle(1)->state), CYCLE_OPEN);
	atomic_store(&job->told, JOB_TOLD_TORCH);
	sched_leave();
	ck_assert_uint_eq(atomic_load(&cycle(1)->state), CYCLE_DISCARDED);
}
END_TEST

START_TEST(who_finds_torch_tells_the_job)
{
	job = calloc(1, sizeof(*job));
	start_heap("auto");
	sched_torch_found();
	ck_assert_uint_eq(atomic_load(&job->told), JOB_TOLD_TORCH);
}
END_TEST

/* ---- time, fork ---- */

/* A minute without a step settles what is before a first step, and a full buffer does. */
START_TEST(neither_time_nor_the_cap_ends_it)
{
	start_heap("auto");
	clock_sample(spool.head);
	atomic_store(&sched.last, 1);
	atomic_store(&cycle(1)->whys[DROP_CAP], 1);
	sched_tick();
	is_open_and_whole(1);
}
END_TEST

START_TEST(a_child_has_its_own)
{
	start_heap("auto");
	sched_fork_child();
	ck_assert(!atomic_load(&sched.whole));
	sched_first_block();
	is_open_and_whole(2);
	sched_torch_found();
	is_cycle(2, CYCLE_DISCARDED, "");
}
END_TEST

START_TEST(a_handler_within_a_boundary_ends_nothing)
{
	start_heap("auto");
	ck_assert(sched_lock());
	sched_whole_ends();
	is_open_and_whole(1);
	sched_unlock();
	sched_whole_ends();
	is_cycle(1, CYCLE_DISCARDED, "");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("sched whole");

	tcase_add_test(tc, the_run_is_one_window);
	tcase_add_loop_test(tc, who_names_a_marker_gets_its_steps, 0, 3);
	tcase_add_loop_test(tc, what_has_steps_ends_it, 0, 3);
	tcase_add_test(tc, torch_is_waited_for);
	tcase_add_loop_test(tc, where_another_process_has_torch_nothing_is_kept, 0, 2);
	tcase_add_test(tc, nor_by_who_leaves_without_a_word);
	tcase_add_test(tc, who_finds_torch_tells_the_job);
	tcase_add_test(tc, neither_time_nor_the_cap_ends_it);
	tcase_add_test(tc, a_child_has_its_own);
	tcase_add_test(tc, a_handler_within_a_boundary_ends_nothing);
	return unit_run(tc, "sched whole");
}
