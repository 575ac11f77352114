/* SPDX-License-Identifier: Apache-2.0 */
/* The rank statistics, beside all orders that there can be. */
#include "report/compare/shift.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

static struct shift s;

#define SHIFT(a, b) \
	ck_assert(shift_make(&s, a, sizeof(a) / sizeof(*a), b, sizeof(b) / sizeof(*b)))
#define NEAR(x, y) \
	ck_assert_msg(fabs((x) - (y)) < 1e-9, "%.12f is not %.12f", x, (double)(y))

/* ---- by counting ---- */

/* Of all ways to give n of n + m places to a: how many have U up to u, and from u on? */
static void count_ways(unsigned n, unsigned m, unsigned u, double *up_to, double *from)
{
	unsigned all = 0, below = 0, above = 0;

	for (unsigned set = 0; set < 1u << (n + m); set++) {
		unsigned pairs = 0, a = 0;

		if ((unsigned)__builtin_popcount(set) != n)
			continue;
		for (unsigned i = 0; i < n + m; i++) {
			if (set >> i & 1)
				a++;
			else
				pairs += a;
		}
		all++;
		below += pairs <= u;
		above += pairs >= u;
	}
	*up_to = (double)below / all;
	*from = (double)above / all;
}

/* Every place of every sample up to 5 and 6. */
START_TEST(p_is_that_of_all_orders)
{
	for (unsigned n = 1; n <= 5; n++)
		for (unsigned m = 1; m <= 6; m++)
			for (unsigned set = 0; set < 1u << (n + m); set += 3) {
				double a[8], b[8], up_to, from;
				unsigned i = 0, k = 0, u = 0;

				if ((unsigned)__builtin_popcount(set) != n)
					continue;
				for (unsigned at = 0; at < n + m; at++) {
					if (set >> at & 1)
						a[i++] = at * 1.5;
					else
						b[k++] = at * 1.5, u += i;
				}
				count_ways(n, m, u, &up_to, &from);
				ck_assert(shift_make(&s, a, n, b, m));
				NEAR(s.p, fmin(1, 2 * fmin(up_to, from)));
			}
}
END_TEST

/* The interval leaves out as many differences as may be: one more at each end, and fewer
 * than 95 % of all orders would have the truth inside. */
START_TEST(the_interval_holds_95_percent)
{
	for (unsigned n = 2; n <= 8; n++)
		for (unsigned m = 2; m <= 8; m++) {
			double a[8], b[8], up_to, from, differences[64];
			unsigned at = 0, outside = 0;

			for (unsigned i = 0; i < n; i++)
				a[i] = 100 * i + i * i;
			for (unsigned k = 0; k < m; k++)
				b[k] = 3.1 * k + 0.7;
			for (unsigned i = 0; i < n; i++)
				for (unsigned k = 0; k < m; k++)
					differences[at++] = b[k] - a[i];
			for (unsigned i = 1; i < at; i++)
				for (unsigned k = i;
				     k && differences[k] < differences[k - 1]; k--) {
					double d = differences[k];

					differences[k] = differences[k - 1];
					differences[k - 1] = d;
				}
			ck_assert(shift_make(&s, a, n, b, m));
			count_ways(n, m, 0, &up_to, &from);
			ck_assert_int_eq(s.interval, up_to <= 0.025);
			if (!s.interval)
				continue;
			while (outside < at && differences[outside] < s.low)
				outside++;
			NEAR(s.low, differences[outside]);
			NEAR(s.high, differences[at - 1 - outside]);
			count_ways(n, m, outside, &up_to, &from);
			ck_assert(up_to <= 0.025);
			count_ways(n, m, outside + 1, &up_to, &from);
			ck_assert(up_to > 0.025);
		}
}
END_TEST

/* ---- values ---- */

START_TEST(the_shift_is_the_median_difference)
{
	static const double a[] = { 10, 12, 11, 13, 1000 }, b[] = { 15, 14, 17, 16, 18 };

	SHIFT(a, b);
	NEAR(s.a, 12);
	NEAR(s.b, 16);
	NEAR(s.by, 4); /* the mean's is -193 */
	ck_assert(s.interval && s.low <= 4 && s.high >= 4);
	SHIFT(b, a);
	NEAR(s.by, -4);
}
END_TEST

START_TEST(too_few_values_have_no_interval)
{
	static const double one[] = { 5 }, three[] = { 1, 2, 3 }, four[] = { 1, 2, 3, 4 },
			    above[] = { 11, 12, 13, 14 };

	SHIFT(one, three);
	ck_assert(!s.interval && isinf(s.low) && isinf(s.high));
	NEAR(s.by, -3);
	SHIFT(three, three);
	ck_assert(!s.interval);
	SHIFT(four, above);
	ck_assert(s.interval && s.low > 0);
	NEAR(s.by, 10);
	NEAR(s.p, 2 / 70.0);
}
END_TEST

START_TEST(equal_values_are_no_shift)
{
	double same[30];

	for (int i = 0; i < 30; i++)
		same[i] = 7;
	/* For some of these sizes the variance comes out a little below 0. */
	for (size_t n = 4; n <= 30; n++) {
		ck_assert(shift_make(&s, same, n, same, 34 - n));
		ck_assert(s.interval);
		NEAR(s.by, 0);
		NEAR(s.low, 0);
		NEAR(s.high, 0);
		NEAR(s.p, 1);
	}
}
END_TEST

/* 30 and 30 values, each three times: what lies at the edge of the interval is tied. */
START_TEST(many_values_go_by_the_normal_distribution)
{
	double a[30], b[30];

	for (int i = 0; i < 30; i++) {
		a[i] = i % 10;
		b[i] = i % 10 + 2;
	}
	SHIFT(a, b);
	NEAR(s.by, 2);
	ck_assert_msg(s.p > 0.005 && s.p < 0.02, "%f", s.p);
	ck_assert_msg(s.low >= 0 && s.high <= 4, "%f %f", s.low, s.high);
	for (int i = 0; i < 30; i++)
		b[i] = i % 10;
	SHIFT(a, b);
	NEAR(s.by, 0);
	ck_assert(s.p > 0.95 && s.low < 0 && s.high > 0);
}
END_TEST

/* The exact way and the normal one meet where both are right. */
START_TEST(both_ways_agree_at_25)
{
	double a[26], b[26], p, low, high;

	for (int i = 0; i < 26; i++) {
		a[i] = i * 7 % 26 + 0.001 * i;
		b[i] = i * 11 % 26 + 4.5 + 0.0017 * i;
	}
	ck_assert(shift_make(&s, a, 25, b, 25));
	p = s.p, low = s.low, high = s.high;
	ck_assert(shift_make(&s, a, 26, b, 25));
	ck_assert_msg(fabs(s.p - p) < 0.02, "%f %f", s.p, p);
	ck_assert_msg(fabs(s.low - low) < 1 && fabs(s.high - high) < 1, "%f %f", s.low,
		      low);
}
END_TEST

START_TEST(of_many_values_some_count_evenly)
{
	static double a[200000], b[200000];

	for (int i = 0; i < 200000; i++) {
		a[i] = i % 1000;
		b[i] = i % 1000 + 100;
	}
	SHIFT(a, b);
	ck_assert_uint_eq(s.a_n, SHIFT_MOST);
	ck_assert_msg(fabs(s.by - 100) < 15, "%f", s.by);
}
END_TEST

/* ---- many tests ---- */

START_TEST(p_of_many_tests_is_adjusted)
{
	double p[] = { 0.04, 0.001, 0.03, 0.5, 0.01 };

	ck_assert(shift_adjust(p, 5));
	NEAR(p[1], 0.005);
	NEAR(p[4], 0.025);
	NEAR(p[2], 0.05);
	NEAR(p[0], 0.05);
	NEAR(p[3], 0.5);
	ck_assert(shift_adjust(p, 0));
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("shift");

	tcase_add_test(c, p_is_that_of_all_orders);
	tcase_add_test(c, the_interval_holds_95_percent);
	tcase_add_test(c, the_shift_is_the_median_difference);
	tcase_add_test(c, too_few_values_have_no_interval);
	tcase_add_test(c, equal_values_are_no_shift);
	tcase_add_test(c, many_values_go_by_the_normal_distribution);
	tcase_add_test(c, both_ways_agree_at_25);
	tcase_add_test(c, of_many_values_some_count_evenly);
	tcase_add_test(c, p_of_many_tests_is_adjusted);
	return unit_run(c, "report shift");
}
