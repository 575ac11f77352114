/* SPDX-License-Identifier: Apache-2.0 */
/* Growth that goes on, and all that looks like it; tests/leaks has many more. */
#include "report/rises.h"
#include "report/trend.h"
#include "tests/unit/unit.h"

#define G 65536

static int64_t level[200];

static struct trend judged(size_t n, double error, bool rough)
{
	struct trend_of of = {
		.level = level, .n = n, .limit = G, .error = error, .rough = rough
	};

	return trend_find(&of);
}

/* ---- exact levels ---- */

static int64_t each(size_t i, size_t n)
{
	(void)n;
	return 2 * G * (int64_t)i;
}

static int64_t every_second(size_t i, size_t n)
{
	(void)n;
	return 4 * G * (int64_t)(i / 2);
}

static int64_t every_tenth(size_t i, size_t n)
{
	(void)n;
	return 20 * G * (int64_t)(i / 10);
}

static int64_t below(size_t i, size_t n)
{
	(void)n;
	return G * (int64_t)i / 2;
}

static int64_t levels_off(size_t i, size_t n)
{
	return 8 * G * (int64_t)(i < n * 4 / 10 ? i : n * 4 / 10);
}

static int64_t stairs(size_t i, size_t n)
{
	return 80 * G * ((i > n / 5) + (i > n / 2) + (i > n * 7 / 10));
}

static int64_t jump(size_t i, size_t n)
{
	return 400 * G * (i >= n / 2);
}

static int64_t teeth(size_t i, size_t n)
{
	(void)n;
	return 4 * G * (int64_t)(i % 5);
}

static int64_t late(size_t i, size_t n)
{
	return i > n * 6 / 10 ? 2 * G * (int64_t)(i - n * 6 / 10) : 0;
}

static int64_t after_warm_up(size_t i, size_t n)
{
	(void)n;
	return 60 * G * (int64_t)(i < 3 ? i : 3) + 2 * G * (int64_t)i;
}

/* A leak, and teeth of seven times its height at the same place. */
static int64_t under_teeth(size_t i, size_t n)
{
	return each(i, n) + 4 * G * (int64_t)(i % 7);
}

/* A leak, and at every other step far more for a moment, by chance. */
static int64_t under_spikes(size_t i, size_t n)
{
	return each(i, n) + (i % 2 ? 0 : 40 * G * (int64_t)(i * i * 2654435761u % 17));
}

static int64_t goes(size_t i, size_t n)
{
	return i < n * 7 / 10 ? 4 * G * (int64_t)i : 0;
}

static int64_t slows_down(size_t i, size_t n)
{
	int64_t sum = 0;

	(void)n;
	for (size_t k = 1; k <= i; k++)
		sum += 32 * G / (int64_t)(k + 1);
	return sum;
}

/* Rises by day and rests at night, a day being 24 steps; four days, or what comes sooner.
 */
static int64_t by_day(size_t i, size_t n)
{
	(void)n;
	i = i < 96 ? i : 96;
	return 4 * G * (int64_t)(i / 24 * 12 + (i % 24 < 12 ? i % 24 : 12));
}

/* Nothing for 80 steps, then a cache that fills, and goes on slowly. */
static int64_t late_cache(size_t i, size_t n)
{
	(void)n;
	return i < 80    ? 0
	       : i < 120 ? 8 * G * (int64_t)(i - 80)
			 : 320 * G + G * (int64_t)(i - 120) / 2;
}

/* A cache that is filled in two goes. */
static int64_t two_goes(size_t i, size_t n)
{
	(void)n;
	return 8 * G * (int64_t)(i < 20 ? i : i < 60 ? 20 : i < 80 ? i - 40 : 40);
}

/* Slow growth below the limit, then none but in bursts. */
static int64_t late_bursts(size_t i, size_t n)
{
	(void)n;
	return G * (int64_t)(i < 60 ? i : 60) / 5 +
	       40 * G *
		       (int64_t)((i >= 74) + (i >= 78) + (i >= 87) + (i >= 89) +
				 (i >= 92));
}

static const struct {
	int64_t (*at)(size_t i, size_t n);
	size_t n;
	enum trend_is is;
} shapes[] = {
	{ each, 20, TREND_GROWS },           { each, 200, TREND_GROWS },
	{ every_second, 20, TREND_GROWS },   { every_second, 200, TREND_GROWS },
	{ every_tenth, 100, TREND_GROWS },   { every_tenth, 200, TREND_GROWS },
	{ late, 50, TREND_GROWS },           { late, 200, TREND_GROWS },
	{ after_warm_up, 20, TREND_GROWS },  { under_teeth, 100, TREND_GROWS },
	{ under_spikes, 60, TREND_GROWS },   { below, 20, TREND_STEADY },
	{ below, 200, TREND_STEADY },        { stairs, 20, TREND_STEADY },
	{ stairs, 200, TREND_STEADY },       { jump, 20, TREND_STEADY },
	{ jump, 200, TREND_STEADY },         { teeth, 20, TREND_STEADY },
	{ teeth, 200, TREND_STEADY },        { goes, 20, TREND_STEADY },
	{ goes, 200, TREND_STEADY },         { levels_off, 20, TREND_LEVELLED },
	{ levels_off, 200, TREND_LEVELLED }, { slows_down, 40, TREND_LEVELLED },
	{ by_day, 90, TREND_GROWS },         { by_day, 96, TREND_GROWS },
	{ by_day, 140, TREND_LEVELLED },     { late_cache, 200, TREND_LEVELLED },
	{ two_goes, 120, TREND_LEVELLED },   { late_bursts, 100, TREND_GROWS },
};

START_TEST(exact_levels_are_told)
{
	struct trend t;

	for (size_t i = 0; i < shapes[_i].n; i++)
		level[i] = shapes[_i].at(i, shapes[_i].n);
	t = judged(shapes[_i].n, 0, false);
	ck_assert_msg(t.is == shapes[_i].is, "row %d: %d", _i, (int)t.is);
}
END_TEST

START_TEST(a_slope_is_in_bytes_a_step)
{
	struct trend t;

	for (size_t i = 0; i < 40; i++)
		level[i] = each(i, 40);
	t = judged(40, 0, false);
	ck_assert(t.slope > 2 * G - 1 && t.slope < 2 * G + 1);
	ck_assert(t.low > 2 * G - 1 && t.low <= t.slope);
	ck_assert_uint_eq(t.since, 0);
}
END_TEST

/* Where it stopped. */
START_TEST(a_cache_says_when_it_was_full)
{
	for (size_t i = 0; i < 100; i++)
		level[i] = levels_off(i, 100);
	ck_assert_uint_eq(judged(100, 0, false).since, 40);
}
END_TEST

/* ---- few steps ---- */

START_TEST(few_steps_must_all_agree)
{
	for (size_t i = 0; i < 10; i++)
		level[i] = each(i, 10);
	ck_assert_int_eq(judged(10, 0, false).is, TREND_GROWS);
	ck_assert_int_eq(judged(6, 0, false).is, TREND_GROWS);
	ck_assert_int_eq(judged(5, 0, false).is, TREND_UNSURE);
	ck_assert_int_eq(judged(1, 0, false).is, TREND_UNSURE);
	for (size_t i = 0; i < 10; i++)
		level[i] = every_second(i, 10);
	ck_assert_int_eq(judged(10, 0, false).is, TREND_UNSURE);
	ck_assert_uint_eq(judged(10, 0, false).more, 10);
	for (size_t i = 0; i < 10; i++)
		level[i] = below(i, 10);
	ck_assert_int_eq(judged(10, 0, false).is, TREND_STEADY);
}
END_TEST

/* ---- samples ---- */

#define DISTANCE (512.0 * 1024)

/* 512 KiB at every n-th step: so much as a sample shows of a growth. */
static struct trend sampled(size_t n, size_t every)
{
	for (size_t i = 0; i < n; i++)
		level[i] = (int64_t)(i / every) * 524288;
	return judged(n, DISTANCE, false);
}

START_TEST(a_sample_knows_its_error)
{
	ck_assert_int_eq(sampled(200, 2).is, TREND_GROWS);
	ck_assert_int_eq(sampled(200, 6).is, TREND_UNSURE); /* 85 KiB a step +- 15 */
	/* 398 in all: 4 x 512 KiB x 85 KiB by the square of what is above the limit. */
	ck_assert_uint_eq(sampled(200, 6).more, 198);
	ck_assert_int_eq(sampled(200, 40).is, TREND_STEADY);
	ck_assert_int_eq(sampled(20, 4).is, TREND_UNSURE);
	ck_assert_int_eq(sampled(20, 40).is,
			 TREND_UNSURE); /* nothing was seen: 4 may be there */
	ck_assert_int_eq(sampled(40, 50).is, TREND_STEADY);
}
END_TEST

/* A cache that moves: 8 of 20 steps, or 20 of 50, bring 16 MiB in samples of 377 KiB, and
 * nothing comes behind them. So few steps may hide growth near the limit, and no more. */
START_TEST(a_sample_that_falls_silent_is_no_sure_leak)
{
	for (size_t n = 20; n <= 50; n += 30) {
		size_t from = n / 5, steps = n * 2 / 5;

		for (size_t i = 0; i < n; i++) {
			size_t at = i < from ? 0 : i - from;

			level[i] = (16 << 20) / (int64_t)steps *
				   (int64_t)(at < steps ? at : steps);
		}
		ck_assert_int_eq(judged(n, 377 << 10, false).is, TREND_UNSURE);
	}
}
END_TEST

/* ---- a whole heap ---- */

/* The low-water marks of the thirds rise, but so much comes and goes that nobody knows.
 */
START_TEST(a_rough_level_may_be_unsure)
{
	static const int by[] = { 9, 2, 14, 1, 7, 15, 3, 11, 6, 13 };

	for (size_t i = 0; i < 20; i++)
		level[i] = each(i, 20) + 4 * G * by[i % 10];
	ck_assert_int_eq(judged(20, 0, true).is, TREND_UNSURE);
	ck_assert_int_eq(judged(20, 0, false).is, TREND_STEADY);
}
END_TEST

/* All pairs of 100 marks fit into the list; of one more each second mark is taken, and
 * here those in between would move the middle. */
START_TEST(no_more_pairs_than_there_is_room_for)
{
	static struct rises r;

	r.n = 100;
	r.b = 1;
	for (size_t i = 0; i <= r.n; i++)
		r.lows[i] = i % 2 ? 1e5 * (double)i - 1e6 : 10 * (double)i;
	ck_assert_double_eq_tol(rises_middle(&r), 10, 1e-9);
	r.n = 99;
	ck_assert_double_gt(rises_middle(&r), 100);
}
END_TEST

START_TEST(roots)
{
	ck_assert(rises_root(-1) == 0 && rises_root(0) == 0);
	ck_assert(rises_root(16) > 3.999999 && rises_root(16) < 4.000001);
	ck_assert(rises_root(1e18) > 0.999999e9 && rises_root(1e18) < 1.000001e9);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("trend");

	tcase_add_loop_test(tc, exact_levels_are_told, 0,
			    sizeof(shapes) / sizeof(*shapes));
	tcase_add_test(tc, a_slope_is_in_bytes_a_step);
	tcase_add_test(tc, a_cache_says_when_it_was_full);
	tcase_add_test(tc, few_steps_must_all_agree);
	tcase_add_test(tc, a_sample_knows_its_error);
	tcase_add_test(tc, a_sample_that_falls_silent_is_no_sure_leak);
	tcase_add_test(tc, a_rough_level_may_be_unsure);
	tcase_add_test(tc, no_more_pairs_than_there_is_room_for);
	tcase_add_test(tc, roots);
	return unit_run(tc, "trend");
}
