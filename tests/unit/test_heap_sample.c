/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hooks/heap_parts.h"
#include "tests/unit/unit.h"

#include <math.h>

#define MEAN (512 * 1024)

/* ---- gaps ---- */

START_TEST(the_logarithm_is_the_logarithm)
{
	double worst = 0;

	for (double x = 1; x > 1e-300; x *= 0.9173) {
		double off = fabs(heap_gap_log(x) - log(x)) / fmax(1, fabs(log(x)));

		worst = fmax(worst, off);
	}
	ck_assert_double_lt(worst, 1e-9);
	ck_assert_double_lt(fabs(heap_gap_log(0x1p-53) - log(0x1p-53)), 1e-8);
}
END_TEST

START_TEST(gaps_are_exponential)
{
	struct heap_gap g = { 0 };
	double sum = 0, squares = 0;
	unsigned n = 1000000, above = 0;

	heap_gap_seed(&g, 42);
	for (unsigned i = 0; i < n; i++) {
		heap_gap_next(&g, MEAN);
		sum += (double)g.left;
		squares += (double)g.left * (double)g.left;
		above += g.left > MEAN;
	}
	/* within four standard errors */
	ck_assert_double_lt(fabs(sum / n / MEAN - 1), 4 / sqrt(n));
	ck_assert_double_lt(fabs(squares / n / (2.0 * MEAN * MEAN) - 1),
			    4 * sqrt(5.0 / n));
	ck_assert_double_lt(fabs((double)above / n - exp(-1)), 4 * 0.49 / sqrt(n));
}
END_TEST

START_TEST(seeds_give_different_gaps_and_the_same_seed_the_same)
{
	struct heap_gap a = { 0 }, b = { 0 }, c = { 0 };

	heap_gap_seed(&a, 1);
	heap_gap_seed(&b, 1);
	heap_gap_seed(&c, 2);
	heap_gap_next(&a, MEAN);
	heap_gap_next(&b, MEAN);
	heap_gap_next(&c, MEAN);
	ck_assert_uint_eq(a.left, b.left);
	ck_assert_uint_ne(a.left, c.left);
}
END_TEST

/* ---- which blocks are samples ---- */

static void *block(uintptr_t i)
{
	return (void *)(0x7f0000000000 + i * 0x1230);
}

START_TEST(a_sample_is_found_once)
{
	heap_samples_turn();
	ck_assert(!heap_maybe_sampled(block(1)));
	ck_assert(heap_samples_add(block(1)));
	ck_assert(heap_maybe_sampled(block(1)));
	ck_assert(!heap_samples_take(block(2)));
	ck_assert(heap_samples_take(block(1)));
	ck_assert(!heap_samples_take(block(1)));
	ck_assert(!heap_maybe_sampled(block(1)));
}
END_TEST

START_TEST(many_samples_are_all_found)
{
	enum { MANY = 100000 };

	heap_samples_turn();
	for (uintptr_t i = 0; i < MANY; i++)
		ck_assert(heap_samples_add(block(i)));
	for (uintptr_t i = 0; i < MANY; i += 2)
		ck_assert(heap_samples_take(block(i)));
	for (uintptr_t i = 0; i < MANY; i++)
		ck_assert_int_eq(heap_maybe_sampled(block(i)) &&
					 heap_samples_take(block(i)),
				 i % 2);
}
END_TEST

START_TEST(a_full_table_says_so)
{
	uintptr_t i = 0;

	heap_samples_turn();
	while (i < 1000000 && heap_samples_add(block(i)))
		i++;
	ck_assert_uint_gt(i, 1 << 17);
	ck_assert_uint_lt(i, 1000000);
}
END_TEST

START_TEST(a_window_begins_without_samples)
{
	heap_samples_turn();
	for (uintptr_t i = 0; i < 5000; i++)
		heap_samples_add(block(i));
	heap_samples_turn();
	for (uintptr_t i = 0; i < 5000; i++) {
		ck_assert(!heap_maybe_sampled(block(i)));
		ck_assert(!heap_samples_take(block(i)));
	}
	ck_assert(heap_samples_add(block(7)));
	ck_assert(heap_samples_take(block(7)));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("heap sample");

	tcase_add_test(tc, the_logarithm_is_the_logarithm);
	tcase_add_test(tc, gaps_are_exponential);
	tcase_add_test(tc, seeds_give_different_gaps_and_the_same_seed_the_same);
	tcase_add_test(tc, a_sample_is_found_once);
	tcase_add_test(tc, many_samples_are_all_found);
	tcase_add_test(tc, a_full_table_says_so);
	tcase_add_test(tc, a_window_begins_without_samples);
	return unit_run(tc, "heap sample");
}
