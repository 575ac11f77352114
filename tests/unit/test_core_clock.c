/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks and the times that traces tell of them, by clocks that the test sets. */
#include "agent/core/clock.h"
#include "tests/unit/seam.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"

#include <sys/wait.h>

#define S  1000000000ll
#define MS 1000000ll

/* The machine's clocks, as the program's clock_gettime says them. */
static int64_t mono = 5000 * S, real = 1700000000 * S;
static void (*asked)(void);

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *t)
{
	int64_t ns = id == CLOCK_REALTIME        ? real
		     : id == CLOCK_MONOTONIC_RAW ? mono
						 : 0; /* steered: of no use to us */

	if (asked)
		asked();
	*t = (struct timespec){ ns / S, ns % S };
	return 0;
}

static struct spool_header *head;

static void pass(int64_t ns)
{
	mono += ns;
	real += ns;
}

/* The slow clock: one tick is one ns of `mono`. */
static void begin(void)
{
	clock_kind = CLOCK_NS;
	ck_assert_int_eq(spool_open(NULL, 1 << 20), 0);
	head = spool.head;
}

static uint64_t triples(void)
{
	return atomic_load(&head->clocks);
}

static int64_t real_ns(uint64_t ticks)
{
	return clock_line_at(head, ticks, ticks).ns;
}

START_TEST(the_slow_clock_is_not_steered)
{
	begin();
	ck_assert_uint_eq(clock_ticks(), (uint64_t)mono);
	ck_assert_uint_eq(head->clock_kind, CLOCK_NS);
	ck_assert_int_eq(real_ns(clock_ticks()), real);
	ck_assert_double_eq(clock_rate(head), 1e9);
	pass(3 * S);
	ck_assert_int_eq(real_ns(clock_ticks()), real);
}
END_TEST

/* What the wall clock gains is made up for by 500 ppm at most, as adjtime does. */
static const int64_t gains[] = { 0, 300000, -300000, 15 * MS, -15 * MS };

START_TEST(a_drift_is_made_up_for_slowly)
{
	int64_t gain = gains[_i], most = S / 2000, told;
	int64_t step = gain > most ? most : gain < -most ? -most : gain;

	begin();
	pass(S);
	real += gain;
	clock_sample(head);
	told = real_ns(clock_ticks());
	ck_assert_int_eq(told, real - gain); /* without a bend */
	pass(S);
	told = real_ns(clock_ticks());
	ck_assert_int_le(llabs(told - (real - gain + step)), 2);
	ck_assert_int_eq(head->clock[triples() - 1].leap_ns, 0);
}
END_TEST

/* ... and a jump is one: summed up, so that a window over two of them has no hole. */
START_TEST(a_jump_is_told_and_no_window_is_stretched_by_it)
{
	struct clock_line line;
	uint64_t from, to;

	begin();
	pass(S);
	from = clock_ticks();
	for (int i = 0; i < 2; i++) {
		pass(S);
		real += _i ? -3600 * S : 3600 * S;
		clock_sample(head);
		ck_assert_int_eq(real_ns(clock_ticks()), real);
	}
	pass(S);
	to = clock_ticks();
	ck_assert_int_eq(head->clock[triples() - 1].leap_ns, (_i ? -2 : 2) * 3600 * S);
	line = clock_line_at(head, from, to);
	ck_assert_int_eq(line.end_ns - line.ns, 3 * S);
	ck_assert_double_eq_tol(line.per_tick, 1, 1e-9);
	/* An event that began before its window. */
	ck_assert_int_eq(clock_line_ns(&line, from - 1000), line.ns - 1000);
	ck_assert_int_eq(clock_line_ns(&line, to), line.end_ns);
}
END_TEST

START_TEST(a_long_job_stays_covered)
{
	begin();
	for (int i = 0; i < 1200; i++) {
		pass(S);
		clock_sample(head);
		ck_assert_uint_le(triples(), SPOOL_CLOCKS);
	}
	for (uint64_t i = 1; i < triples(); i++)
		ck_assert_uint_gt(head->clock[i].ticks, head->clock[i - 1].ticks);
	ck_assert_int_eq(head->clock[0].mono_ns, 5000 * S);
	ck_assert_uint_eq(head->last_file[0], 0); /* what lies behind them */
	/* No part of it is without one. */
	for (uint64_t i = 1; i < triples(); i++)
		ck_assert_uint_le(head->clock[i].ticks - head->clock[i - 1].ticks,
				  16 * S);
	for (int64_t at = 5000 * S; at < mono; at += 7 * S)
		ck_assert_int_le(llabs(real_ns((uint64_t)at) - (real - (mono - at))), 2);
}
END_TEST

START_TEST(at_an_edge_time_is_taken_once_in_a_millisecond)
{
	uint64_t before;

	begin();
	before = triples();
	pass(MS / 2);
	clock_edge(head);
	ck_assert_uint_eq(triples(), before);
	pass(2 * MS);
	clock_edge(head);
	clock_edge(head);
	ck_assert_uint_eq(triples(), before + 1);
}
END_TEST

/* A signal's handler forks in the middle of clock_sample. */
static void fork_once(void)
{
	int status;
	pid_t pid;

	asked = NULL;
	pid = fork();
	if (!pid) {
		uint64_t before;

		clock_begin(head);
		before = triples();
		pass(S);
		clock_sample(head);
		pass(S);
		clock_sample(head);
		_exit(triples() != before + 2);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

START_TEST(a_child_keeps_its_own_time)
{
	uint64_t before;

	begin();
	before = triples();
	pass(S);
	asked = fork_once;
	clock_sample(head);
	ck_assert_ptr_null(asked);
	ck_assert_uint_eq(triples(), before + 1);
}
END_TEST

static void come_again(void)
{
	asked = NULL;
	clock_sample(head);
}

START_TEST(one_takes_the_time_for_all)
{
	uint64_t before;

	begin();
	before = triples();
	pass(S);
	asked = come_again;
	clock_sample(head);
	ck_assert_uint_eq(triples(), before + 1);
}
END_TEST

/* The kernel's word on the counter is believed, nothing else. */
static const char *source;

static bool name_source(long nr, const long a[6], long *result)
{
	if (!seam_opens(nr, a, "/current_clocksource"))
		return false;
	*result = source ? seam_text(source) : -ENOENT;
	return true;
}

START_TEST(the_counter_is_for_machines_that_keep_time_by_it)
{
	static const char *const sources[] = { "tsc\n",       "hpet\n", "acpi_pm\n",
					       "kvm-clock\n", "",       NULL };

	source = sources[_i];
	clock_kind = CLOCK_NS;
	seam = name_source;
	clock_start();
	ck_assert_uint_eq(clock_kind, _i ? CLOCK_NS : CLOCK_TSC);
}
END_TEST

/* The launcher has asked: its processes open no file. */
START_TEST(what_another_process_found_is_not_asked_again)
{
	source = NULL;
	seam = name_source;
	clock_start_as(CLOCK_TSC);
	ck_assert_uint_eq(clock_kind, CLOCK_TSC);
	source = "tsc\n";
	clock_start_as(CLOCK_NS);
	ck_assert_uint_eq(clock_kind, CLOCK_NS);
	clock_start_as(77); /* no word of ours */
	ck_assert_uint_eq(clock_kind, CLOCK_TSC);
}
END_TEST

/* Who is killed at once has a rate: from the process's start to the spool's. */
START_TEST(the_first_triple_is_of_the_processes_start)
{
	seam = name_source;
	clock_start();
	pass(2 * S);
	ck_assert_int_eq(spool_open(NULL, 1 << 20), 0);
	ck_assert_uint_ge(atomic_load(&spool.head->clocks), 2);
	ck_assert_int_eq(spool.head->clock[0].mono_ns, 5000 * S);
	ck_assert_int_eq(spool.head->clock[1].mono_ns, 5002 * S);
	ck_assert_int_eq(spool.head->clock[0].line_ns, 1700000000 * S);
}
END_TEST

/* Of the times read around the counter its middle is nearest to them. */
static void take_long(void)
{
	mono += 500; /* each question */
}

START_TEST(a_moment_is_in_the_middle_of_its_reading)
{
	const struct clock_triple *last;

	begin();
	pass(S);
	asked = take_long;
	clock_sample(head);
	last = &head->clock[triples() - 1];
	ck_assert_uint_gt(last->ticks, (uint64_t)last->mono_ns - 1500);
	ck_assert_uint_lt(last->ticks, (uint64_t)last->mono_ns + 500);
}
END_TEST

/* ---- what is damaged ---- */

START_TEST(a_damaged_clock_tells_a_time_all_the_same)
{
	static const double rates[] = { -1, 0, 1e300, -1e300, 0.0 / 0.0, 2e3 };

	begin();
	pass(S);
	clock_sample(head);
	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		head->clock[triples() - 1].per_tick = rates[i];
		ck_assert_int_eq(real_ns(clock_ticks() + 1000), real + 1000);
	}
	head->clock[triples() - 1].per_tick = 1;
	ck_assert_int_eq(real_ns((uint64_t)INT64_MAX), real);
	/* As many as there are, and not one more. */
	memset(head->clock, 0, sizeof(head->clock));
	memset(head->last_file, 0x11, sizeof(head->last_file));
	atomic_store(&head->clocks, UINT64_MAX);
	ck_assert_int_eq(real_ns(1000), 1000);
	ck_assert_double_eq(clock_rate(head), 1e9);
	atomic_store(&head->clocks, SPOOL_CLOCKS + 40);
	ck_assert_int_eq(real_ns(UINT64_MAX / 4), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core clock");

	tcase_add_test(tc, the_slow_clock_is_not_steered);
	tcase_add_loop_test(tc, a_drift_is_made_up_for_slowly, 0,
			    sizeof(gains) / sizeof(*gains));
	tcase_add_loop_test(tc, a_jump_is_told_and_no_window_is_stretched_by_it, 0, 2);
	tcase_add_test(tc, a_long_job_stays_covered);
	tcase_add_test(tc, at_an_edge_time_is_taken_once_in_a_millisecond);
	tcase_add_test(tc, a_child_keeps_its_own_time);
	tcase_add_test(tc, one_takes_the_time_for_all);
	tcase_add_loop_test(tc, the_counter_is_for_machines_that_keep_time_by_it, 0, 6);
	tcase_add_test(tc, what_another_process_found_is_not_asked_again);
	tcase_add_test(tc, the_first_triple_is_of_the_processes_start);
	tcase_add_test(tc, a_moment_is_in_the_middle_of_its_reading);
	tcase_add_test(tc, a_damaged_clock_tells_a_time_all_the_same);
	return unit_run(tc, "core clock");
}
