/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/heap/gap.h"
#include "tests/unit/mapped_bytes.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>

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

START_TEST(no_seed_makes_every_block_a_sample)
{
	struct heap_gap g = { 0 };

	heap_gap_seed(&g, 0 - 0x9e3779b97f4a7c15ull); /* what the mixing makes a 0 of */
	ck_assert_uint_ne(g.random, 0);
	heap_gap_next(&g, MEAN);
	ck_assert_uint_gt(g.left, 0);
}
END_TEST

/* No configuration has such a mean, but a number that is too large must not wrap. */
START_TEST(a_gap_is_never_beyond_its_count)
{
	struct heap_gap g = { 0 };
	unsigned wrapped = 0;

	heap_gap_seed(&g, 1);
	for (unsigned i = 0; i < 1000; i++) {
		heap_gap_next(&g, UINT64_MAX);
		wrapped += g.left > (uint64_t)9e18 || g.left < 1000;
	}
	ck_assert_uint_eq(wrapped, 0);
}
END_TEST

/* ---- which blocks are samples ---- */

static void *block(uintptr_t i)
{
	return (void *)(0x7f0000000000 + i * 0x1230);
}

START_TEST(a_sample_is_found_once)
{
	heap_samples_start();
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

/* Blocks that the filter cannot tell apart, as many as its byte wraps at. */
START_TEST(a_filter_that_has_counted_too_far_lets_all_through)
{
	heap_samples_start();
	heap_samples_turn();
	for (uintptr_t i = 1; i <= 256; i++)
		ck_assert(heap_samples_add((void *)(i << 20 | (i ^ 77) << 4)));
	for (uintptr_t i = 1; i <= 256; i++) {
		void *p = (void *)(i << 20 | (i ^ 77) << 4);

		ck_assert(heap_maybe_sampled(p) && heap_samples_take(p));
	}
}
END_TEST

START_TEST(many_samples_are_all_found)
{
	enum { MANY = 100000 };

	heap_samples_start();
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

	heap_samples_start();
	heap_samples_turn();
	while (i < 1000000 && heap_samples_add(block(i)))
		i++;
	ck_assert_uint_gt(i, 1 << 17);
	ck_assert_uint_lt(i, 1000000);
}
END_TEST

/* As many live samples as make it small, or less small, and none of an older window. */
START_TEST(a_table_that_shrinks_keeps_what_is_live)
{
	static const uintptr_t many[] = { 0, 700, 9000, 60000 };
	static const uint64_t left[] = { 64 << 10, 64 << 10, 512 << 10, 2 << 20 };
	uint64_t before, after;

	heap_samples_start();
	heap_samples_turn();
	for (uintptr_t i = 0; i < 3000; i++)
		heap_samples_add(block(i + 100000));
	heap_samples_turn();
	for (uintptr_t i = 0; i < many[_i]; i++)
		ck_assert(heap_samples_add(block(i)));
	before = mapped_bytes(MAPPED_DATA);
	heap_samples_shrink();
	after = mapped_bytes(MAPPED_DATA);
	ck_assert_uint_eq(before - after, (2 << 20) - left[_i]);
	ck_assert(!heap_samples_take(block(100007)));
	for (uintptr_t i = 0; i < many[_i]; i++)
		ck_assert(heap_samples_take(block(i)));
	for (uintptr_t i = 0; i < 1000; i++)
		ck_assert(heap_samples_add(block(i)));
	heap_samples_shrink(); /* again: nothing more to gain */
	ck_assert(_i == 2 || _i == 3 || mapped_bytes(MAPPED_DATA) == after);
	for (uintptr_t i = 0; i < 1000; i++)
		ck_assert(heap_samples_take(block(i)));
}
END_TEST

/* Their addresses are as far apart as a fourth of the table by a plain product. */
START_TEST(blocks_of_one_distance_are_all_kept)
{
	static const uintptr_t distances[] = { 1693, 3386, 5079, 6772 };

	heap_samples_start();
	heap_samples_turn();
	for (uintptr_t i = 1; i <= 2000; i++)
		ck_assert(heap_samples_add((void *)(i * distances[_i] * 16)));
	heap_samples_shrink();
	for (uintptr_t i = 1; i <= 2000; i++)
		ck_assert(heap_samples_take((void *)(i * distances[_i] * 16)));
}
END_TEST

START_TEST(where_memory_is_scarce_the_table_is_small)
{
	uint64_t before = mapped_bytes(MAPPED_DATA);
	struct rlimit limit = { before + (30 << 20), RLIM_INFINITY };

	ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
	ck_assert(heap_samples_start());
	ck_assert_uint_le(mapped_bytes(MAPPED_DATA) - before, 64 << 10);
	ck_assert(heap_samples_add(block(7)));
	ck_assert(heap_samples_take(block(7)));
}
END_TEST

START_TEST(a_window_begins_without_samples)
{
	heap_samples_start();
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

/* Nor in one of many: what was not freed in its window is nobody's in any later one,
 * also where the filter cannot tell it from one of that window's. */
START_TEST(a_block_of_another_window_is_no_sample)
{
	void *old = (void *)(3ul << 20 | (3ul ^ 77) << 4);
	void *new = (void *)(4ul << 20 | (4ul ^ 77) << 4);

	ck_assert_uint_eq(heap_filter_at(old), heap_filter_at(new));
	heap_samples_start();
	for (int window = 0; window < 9; window++) {
		heap_samples_turn();
		ck_assert(heap_samples_add(new));
		ck_assert(heap_maybe_sampled(old));
		ck_assert(!heap_samples_take(old));
		ck_assert(heap_samples_add(old));
		ck_assert(heap_samples_take(new));
	}
}
END_TEST

/* With page tables of five levels an address may have 57 bits. */
START_TEST(a_far_block_of_another_window_is_no_sample)
{
	void *far = (void *)(2ul << 48 | 0x1000);

	heap_samples_start();
	for (int window = 0; window < 9; window++) {
		ck_assert(heap_samples_add(far));
		heap_samples_turn();
		heap_samples_turn();
		ck_assert(!heap_samples_take(far));
		heap_samples_turn();
	}
}
END_TEST

/* Also where their number begins anew in the slots: in none of the windows is the table
 * full, and what was not freed in one is nobody's in any other. */
START_TEST(after_any_number_of_windows_samples_are_found)
{
	unsigned lost = 0, strange = 0;

	heap_samples_start();
	for (unsigned window = 0; window < (1u << 16) + 9; window++) {
		heap_samples_turn();
		strange += heap_samples_take(block(1)) || heap_samples_take(block(2));
		lost += !heap_samples_add(block(1)) || !heap_maybe_sampled(block(1));
		if (window == 4)
			lost += !heap_samples_add(block(2));
		lost += !heap_samples_add(block(3)) || !heap_samples_take(block(3));
	}
	ck_assert_uint_eq(lost, 0);
	ck_assert_uint_eq(strange, 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("heap sample");

	tcase_add_test(tc, the_logarithm_is_the_logarithm);
	tcase_add_test(tc, gaps_are_exponential);
	tcase_add_test(tc, seeds_give_different_gaps_and_the_same_seed_the_same);
	tcase_add_test(tc, no_seed_makes_every_block_a_sample);
	tcase_add_test(tc, a_gap_is_never_beyond_its_count);
	tcase_add_test(tc, a_sample_is_found_once);
	tcase_add_test(tc, a_filter_that_has_counted_too_far_lets_all_through);
	tcase_add_test(tc, many_samples_are_all_found);
	tcase_add_test(tc, a_full_table_says_so);
	tcase_add_loop_test(tc, a_table_that_shrinks_keeps_what_is_live, 0, 4);
	tcase_add_loop_test(tc, blocks_of_one_distance_are_all_kept, 0, 4);
	tcase_add_test(tc, where_memory_is_scarce_the_table_is_small);
	tcase_add_test(tc, a_window_begins_without_samples);
	tcase_add_test(tc, a_block_of_another_window_is_no_sample);
	tcase_add_test(tc, a_far_block_of_another_window_is_no_sample);
	tcase_add_test(tc, after_any_number_of_windows_samples_are_found);
	return unit_run(tc, "heap sample");
}
