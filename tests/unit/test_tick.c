/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/said.h"
#include "tests/unit/sched_bench.h"

#include <sys/syscall.h>
#include <unistd.h>

/* What time alone brings. The clocks are the test's: they stand where it sets them. */

static int64_t realtime; /* ns; 0 = as it is */

int clock_gettime(clockid_t id, struct timespec *t)
{
	if (id == CLOCK_REALTIME && realtime) {
		t->tv_sec = realtime / 1000000000;
		t->tv_nsec = realtime % 1000000000;
		return 0;
	}
	return (int)syscall(SYS_clock_gettime, id, t);
}

#define MS 1000000ll

static uint64_t boundaries(void)
{
	return atomic_load(&spool.head->sched.boundaries);
}

/* The process was stopped, or the machine slept: what nobody saw is not made up. */
START_TEST(ten_periods_late_is_one_boundary)
{
	int64_t next;

	start("active=100", "time:50");
	sched_torch_found();
	sched.due_ns = sys_clock_ns(CLOCK_MONOTONIC) - 10 * 50 * MS;
	next = sched_tick();
	ck_assert_uint_eq(boundaries(), 1);
	ck_assert_int_gt(sched.due_ns, sys_clock_ns(CLOCK_MONOTONIC) - 50 * MS);
	ck_assert_int_eq(next, 50 * MS);
	sched.due_ns = sys_clock_ns(CLOCK_MONOTONIC) + 1000 * 1000 * MS;
	ck_assert_int_eq(sched_tick(), 100 * MS);
	ck_assert_uint_eq(boundaries(), 1);
}
END_TEST

/* A little late, the next one comes when it would have come. */
START_TEST(a_late_step_does_not_move_the_others)
{
	int64_t due;

	start("active=100", "time:10000");
	sched_torch_found();
	due = sched.due_ns = sys_clock_ns(CLOCK_MONOTONIC) - 1000 * MS;
	sched_tick();
	ck_assert_int_eq(sched.due_ns, due + 10000 * MS);
	ck_assert_uint_eq(boundaries(), 1);
}
END_TEST

/* A counter of `hz`: far from 10^9, so that ticks are not taken for ns. */
static void counts_at(uint64_t hz)
{
	struct clock_triple *c = spool.head->clock;

	spool.head->clock_kind = CLOCK_TSC;
	c[1] = c[0];
	c[1].ticks = c[0].ticks + hz;
	c[1].mono_ns = c[0].mono_ns + 1000000000;
	atomic_store(&spool.head->clocks, 2);
	ck_assert(clock_rate(spool.head) == (double)hz);
}

START_TEST(a_minute_without_a_boundary_is_enough)
{
	const uint64_t hz = _i ? 100000000 : 10000000000;

	start("", "auto");
	log_quiet = false;
	event();
	counts_at(hz);
	clock_kind = CLOCK_TSC;
	atomic_store(&sched.last, clock_ticks() - hz * 59);
	sched_tick();
	is_cycle(1, CYCLE_OPEN, "0*");
	atomic_store(&sched.last, clock_ticks() - hz * 61);
	said_start();
	sched_tick();
	ck_assert(strstr(
		said(),
		"no training step was recognised (marker auto looks for DataLoader and "
		"Optimizer.step) for a minute, so what was recorded until then was "
		"kept as one step. Seen: no annotation"));
	is_cycle(1, CYCLE_SEALED, "0");
	iteration();
	iteration();
	no_cycle(2); /* the plan's own begins later */
}
END_TEST

START_TEST(a_full_buffer_is_told_as_the_reason)
{
	const char *text;

	start("", "auto");
	log_quiet = false;
	event();
	atomic_fetch_add(&cycle(1)->whys[DROP_CAP], 1);
	said_start();
	sched_tick();
	sched_tick();
	text = said();
	ck_assert_msg(
		strstr(text,
		       "before buffer_mb was full, so what was recorded until then"),
		"%s", text);
	ck_assert_uint_eq(said_lines(text), 1);
}
END_TEST

/* Files are named by these. */
START_TEST(windows_have_names_of_their_own_when_the_clock_is_set)
{
	start("active=1", "auto");
	realtime = 1700000000000000000;
	sched_step();
	realtime -= 3600 * 1000 * MS;
	sched_step();
	sched_step();
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(cycle(i + 1)->stamp_ns, 1700000000000000000 + i);
}
END_TEST

START_TEST(nothing_ticks_before_step_0_and_after_the_end)
{
	start("", "time:1");
	ck_assert_int_eq(sched_tick(), 100 * MS);
	ck_assert_uint_eq(did.begin, 0);
	sched_torch_found();
	sched_exit();
	sched.due_ns = 1;
	ck_assert_int_eq(sched_tick(), 100 * MS);
	ck_assert_uint_eq(boundaries(), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("tick");

	tcase_add_test(tc, ten_periods_late_is_one_boundary);
	tcase_add_test(tc, a_late_step_does_not_move_the_others);
	tcase_add_loop_test(tc, a_minute_without_a_boundary_is_enough, 0, 2);
	tcase_add_test(tc, a_full_buffer_is_told_as_the_reason);
	tcase_add_test(tc, windows_have_names_of_their_own_when_the_clock_is_set);
	tcase_add_test(tc, nothing_ticks_before_step_0_and_after_the_end);
	return unit_run(tc, "tick");
}
