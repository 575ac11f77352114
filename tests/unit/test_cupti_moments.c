/* SPDX-License-Identifier: Apache-2.0 */
/* Times between, before and behind moments that the test has put there. */
#include "agent/cupti/flow/moments.c"
#include "tests/unit/cupti_bench.h"

#include <math.h>

static double rate; /* ticks of a nanosecond */

static void begin(void)
{
	bench_spool();
	rate = clock_rate(spool.head) / 1e9;
}

static uint64_t ticks(double ms)
{
	return 1000000000000ull + (uint64_t)(int64_t)(ms * 1e6 * rate);
}

/* At so many ms CUPTI says so many. */
static void moment_at(double ms, double says)
{
	moments.at[moments.n++ % MOMENTS] =
		(struct rec_moment){ .r.begin = ticks(ms),
				     .r.end = (uint64_t)(1e15 + says * 1e6) };
}

static double told_at(double ms)
{
	return ((double)(int64_t)(moments_ns(ticks(ms)) - (uint64_t)1e15)) / 1e6;
}

#define ck_told(at, want) \
	ck_assert_msg(fabs(told_at(at) - (want)) < 0.01, "%f: %f", at, told_at(at))

START_TEST(without_a_moment_there_is_no_time)
{
	begin();
	ck_assert_uint_eq(moments_ns(ticks(0)), 0);
}
END_TEST

START_TEST(one_moment_is_enough_for_the_usual_rate)
{
	begin();
	moment_at(100, 5000);
	ck_told(100., 5000);
	ck_told(200., 5100);
	ck_told(0., 4900);
}
END_TEST

/* What lies between two is straight, whatever the clocks are like. */
START_TEST(between_two_moments_the_line_is_theirs)
{
	begin();
	moment_at(0, 0);
	moment_at(1, 2); /* close, but both sides are known */
	moment_at(101, 112);
	ck_told(0., 0);
	ck_told(0.5, 1);
	ck_told(1., 2);
	ck_told(51., 57);
	ck_told(101., 112);
}
END_TEST

/* Behind the last one as between it and the one before, where these are far apart. */
START_TEST(behind_the_last_moment_its_line_goes_on)
{
	begin();
	moment_at(0, 0);
	moment_at(1000, 1000);
	moment_at(1100, 1110);
	ck_told(1200., 1220);
	moment_at(1101, 1113); /* too close to say anything */
	ck_told(1201., 1213);
}
END_TEST

START_TEST(before_the_first_moment_its_line_goes_back)
{
	begin();
	moment_at(1000, 1000);
	moment_at(1100, 1110);
	moment_at(2000, 2010);
	ck_told(900., 890);
	ck_told(1050., 1055);
}
END_TEST

/* The clock was set, either way: each side is as usual. */
START_TEST(a_jump_bends_nothing)
{
	double to = _i ? 200 - 3600000. : 200 + 3600000.;

	begin();
	moment_at(0, 0);
	moment_at(100, 100);
	moment_at(200, to);
	moment_at(300, to + 100);
	ck_told(50., 50);
	ck_told(250., to + 50);
	ck_told(150., to - 50); /* by the moment behind it */
	ck_told(400., to + 200);
}
END_TEST

START_TEST(the_newest_moments_are_those_that_are_kept)
{
	unsigned n = 3 * MOMENTS + 10 * (unsigned)_i, oldest = n - MOMENTS;

	begin();
	for (unsigned i = 0; i < n; i++)
		moment_at(100. * i, 100. * i + (i % 2));
	for (unsigned i = oldest; i < n; i++)
		ck_told(100. * i, 100. * i + (i % 2));
	/* What is older goes back by the oldest line. */
	ck_told(100. * oldest - 1000, 100. * oldest - 1010);
}
END_TEST

/* ---- how they are taken ---- */

static uint64_t asked_from; /* before all of them */
static unsigned asked;

/* The second answer takes longer than the first one did, whoever came in between. */
static int two_answers(uint64_t *ns)
{
	uint64_t from = clock_ticks(), first = from - asked_from;

	*ns = ++asked;
	while (asked == 2 && clock_ticks() - from <= 2 * first)
		;
	return 0;
}

START_TEST(the_best_of_several_readings_counts)
{
	begin();
	session.state = SESSION_READY;
	cupti.GetTimestamp = two_answers;
	asked_from = clock_ticks();
	moments_take();
	ck_assert_uint_eq(asked, 2);
	ck_assert_uint_eq(moments.n, 1);
	ck_assert_uint_eq(moments.at[0].r.end, 1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("cupti moments");

	tcase_add_test(tc, without_a_moment_there_is_no_time);
	tcase_add_test(tc, one_moment_is_enough_for_the_usual_rate);
	tcase_add_test(tc, between_two_moments_the_line_is_theirs);
	tcase_add_test(tc, behind_the_last_moment_its_line_goes_on);
	tcase_add_test(tc, before_the_first_moment_its_line_goes_back);
	tcase_add_loop_test(tc, a_jump_bends_nothing, 0, 2);
	tcase_add_loop_test(tc, the_newest_moments_are_those_that_are_kept, 0, 4);
	tcase_add_test(tc, the_best_of_several_readings_counts);
	return unit_run(tc, "cupti moments");
}
