/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/chunk.h"
#include "tests/unit/sched_bench.h"

#include <pthread.h>
#include <unistd.h>

START_TEST(windows_come_as_planned)
{
	start("skip_first=1,wait=1,warmup=1,active=2,repeat=2", "auto");
	for (unsigned i = 0; i < 12; i++)
		sched_step();
	is_cycle(1, CYCLE_DISCARDED, "1"); /* early.c */
	is_cycle(2, CYCLE_SEALED, "3 4");
	is_cycle(3, CYCLE_SEALED, "7 8");
	no_cycle(4);
	ck_assert_int_eq(cycle(3)->first_step, 7);
	ck_assert_uint_eq(did.arm, 4);
	ck_assert_uint_eq(did.sealed, 3);
	ck_assert_uint_eq(did.observe_on, 3);
	ck_assert(!did.observing);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 12);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.windows), 2);
	ck_assert_str_eq(spool.head->sched.chosen, "proflaunch_step()");
	sched_exit();
	no_cycle(4);
}
END_TEST

START_TEST(back_to_back_windows_leave_no_gap)
{
	int64_t stamp = 0;

	start("active=1", "auto");
	for (unsigned i = 0; i < 50; i++) {
		sched_step();
		ck_assert_uint_eq(gate_cycle(), i + 2);
	}
	sched_exit();
	for (unsigned i = 1; i <= 51; i++) {
		char want[8];

		sprintf(want, "%u", i - 1);
		is_cycle(i, CYCLE_SEALED, want);
		ck_assert_int_gt(cycle(i)->stamp_ns, stamp);
		stamp = cycle(i)->stamp_ns;
		ck_assert_uint_gt(cycle(i)->end, cycle(i)->begin);
		if (i > 1)
			ck_assert_uint_eq(cycle(i)->begin, cycle(i - 1)->end);
	}
	ck_assert_uint_eq(did.observe_off, 0); /* libtorch may be gone at exit */
	ck_assert_uint_eq(gate_cycle(), 0);
}
END_TEST

START_TEST(a_partial_window_at_exit_is_kept)
{
	start("wait=1,active=5", "auto");
	sched_step();
	sched_step();
	sched_exit();
	is_cycle(1, CYCLE_SEALED, "1 2");
	sched_step();
	no_cycle(2);
}
END_TEST

START_TEST(a_warm_up_at_exit_is_not)
{
	start("warmup=5,active=5", "auto");
	sched_step();
	sched_step();
	sched_exit();
	ck_assert_uint_eq(did.arm, 1);
	no_cycle(1);
}
END_TEST

START_TEST(an_open_step_is_unfinished)
{
	start("active=5", "auto");
	sched_step();
	is_cycle(1, CYCLE_OPEN, "0 1*");
}
END_TEST

/* A window that became the leader's was closed without a word about its step. */
START_TEST(a_step_of_a_window_that_is_over_is_the_writers)
{
	struct rec_step *step;
	uint64_t now;

	start("wait=9,active=1", "torch:x");
	now = clock_ticks();
	ck_assert(cycle_open(0, 0, now, CYCLE_KEEP));
	cycle_step_begin(0, now + 1);
	step = (struct rec_step *)(thread_mine->at - sizeof(*step));
	ck_assert_uint_eq(step->r.begin, now + 1);
	ck_assert(cycle_open(1, 0, now + 10, CYCLE_KEEP));
	cycle_step_end(now + 20);
	ck_assert_uint_eq(step->r.end, 0);
	cycle_step_begin(1, now + 21);
	cycle_close(now + 30, CYCLE_KEEP);
	step = (struct rec_step *)(thread_mine->at - sizeof(*step));
	ck_assert_uint_eq(step->r.begin, now + 21);
	cycle_step_end(now + 40);
	ck_assert_uint_eq(step->r.end, 0);
}
END_TEST

START_TEST(no_room_for_a_window_is_counted)
{
	start_sized("wait=1,active=1", "auto", 1 << 20);
	while (chunk_take(CHUNK_DATA, CHUNK_SMALL, 99))
		;
	sched_step();
	ck_assert_uint_eq(gate_cycle(), 0);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.missed), 1);
	sched_step();
	sched_step();
	ck_assert_uint_eq(atomic_load(&spool.head->sched.missed), 2);
}
END_TEST

/* ---- the default ---- */

static void *make_large_again(void *arg)
{
	usleep(10000);
	spool_regrow();
	return arg;
}

/* While the program locks its memory the spool is small for a moment. */
START_TEST(a_window_waits_until_the_spool_is_large_again)
{
	uint64_t missed;
	pthread_t id;

	start("active=1", "auto");
	sched_step();
	ck_assert(spool_shrink(0));
	pthread_create(&id, NULL, make_large_again, NULL);
	sched_step();
	pthread_join(id, NULL);
	missed = atomic_load(&spool.head->sched.missed);
	ck_assert_uint_eq(missed, 0);
	ck_assert_uint_eq(gate_cycle(), 3);
	ck_assert(spool_shrink(0));
	sched_step(); /* and not for ever */
	ck_assert_uint_eq(atomic_load(&spool.head->sched.locked_out), 1);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.missed), 0);
}
END_TEST

START_TEST(what_is_provisional_goes_when_the_first_active_step_begins)
{
	start("", "auto");
	sched_torch_found();
	ck_assert(did.observing); /* waits for the first operator */
	event();
	ck_assert_uint_eq(gate_cycle(), 1);
	ck_assert_uint_eq(cycle(1)->flags, CYCLE_PROVISIONAL);
	for (unsigned i = 0; i < 9; i++)
		iteration();
	is_cycle(1, CYCLE_DISCARDED, "0 1");
	is_cycle(2, CYCLE_SEALED, "2 3 4");
	ck_assert_uint_eq(cycle(2)->flags, 0);
	no_cycle(3);
	ck_assert(!did.observing);
	ck_assert_uint_eq(atomic_load(&spool.head->totals.discarded), 1);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.optimizer_steps), 9);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.loader_nexts), 9);
	ck_assert_str_eq(spool.head->sched.chosen,
			 "DataLoader __next__ after Optimizer.step");
}
END_TEST

START_TEST(what_is_provisional_stays_when_the_program_ends_before)
{
	start("", "auto");
	sched_torch_found();
	event();
	iteration();
	iteration();
	sched_exit();
	is_cycle(1, CYCLE_SEALED, "0 1");
}
END_TEST

START_TEST(what_is_provisional_stays_at_the_cap)
{
	start("", "auto");
	sched_torch_found();
	event();
	atomic_fetch_add(&cycle(1)->whys[DROP_CAP], 1);
	sched_tick();
	is_cycle(1, CYCLE_SEALED, "0");
	ck_assert(!did.observing);
	for (unsigned i = 0; i < 6; i++)
		iteration();
	is_cycle(2, CYCLE_SEALED, "2 3 4");
}
END_TEST

START_TEST(at_the_cap_of_a_window_operators_are_still_counted)
{
	start("active=2", "auto");
	sched_torch_found();
	event();
	ck_assert(did.observing);
	atomic_fetch_add(&cycle(1)->whys[DROP_CAP], 1);
	sched_tick();
	ck_assert(did.observing); /* only so the loss is known */
	ck_assert_uint_eq(gate_cycle(), 1);
	sched_step();
	sched_step();
	ck_assert_uint_eq(gate_cycle(), 2);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("cycle");

	tcase_add_test(tc, windows_come_as_planned);
	tcase_add_test(tc, back_to_back_windows_leave_no_gap);
	tcase_add_test(tc, a_partial_window_at_exit_is_kept);
	tcase_add_test(tc, a_warm_up_at_exit_is_not);
	tcase_add_test(tc, an_open_step_is_unfinished);
	tcase_add_test(tc, a_step_of_a_window_that_is_over_is_the_writers);
	tcase_add_test(tc, no_room_for_a_window_is_counted);
	tcase_add_test(tc, a_window_waits_until_the_spool_is_large_again);
	tcase_add_test(tc, what_is_provisional_goes_when_the_first_active_step_begins);
	tcase_add_test(tc, what_is_provisional_stays_when_the_program_ends_before);
	tcase_add_test(tc, what_is_provisional_stays_at_the_cap);
	tcase_add_test(tc, at_the_cap_of_a_window_operators_are_still_counted);
	return unit_run(tc, "cycle");
}
