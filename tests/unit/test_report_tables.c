/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of `memory` at the edges of what they count. */
#include "tests/unit/report_trace.h"

/* ---- blocks ---- */

/* What another thread frees is no temporary, though it does so in time. */
START_TEST(temporaries_are_of_one_thread)
{
	op("aten::a", 10, 50);
	memory(20, 64, 100);
	memory(21, 128, 100);
	memory_of(2, 0, -1, 30, 64, -100, 0);
	memory(31, 128, -100);
	look();
	ck_assert_int_eq(row(&view.spaces[0].by_op, "aten::a")->allocs, 2);
	ck_assert_int_eq(row(&view.spaces[0].by_op, "aten::a")->brief, 1);
}
END_TEST

/* The table of open blocks is not filled by those that are gone. */
START_TEST(a_hundred_thousand_short_lives)
{
	for (unsigned i = 0; i < 100000; i++) {
		memory(2 * i + 1, 4096 + 64 * i, 10);
		memory(2 * i + 2, 4096 + 64 * i, -10);
	}
	look();
	ck_assert_int_eq(view.spaces[0].allocs, 100000);
	ck_assert_int_eq(view.spaces[0].end, 0);
	ck_assert_int_eq(view.spaces[0].peak, 10);
}
END_TEST

/* Two devices' blocks of one address are two. */
START_TEST(devices_share_no_addresses)
{
	memory_of(1, 1, 0, 10, 64, 100, 0);
	memory_of(1, 1, 1, 11, 64, 200, 0);
	memory_of(1, 1, 0, 20, 64, -100, 0);
	look();
	ck_assert_uint_eq(view.spaces_n, 2);
	ck_assert_int_eq(view.spaces[0].end, 0);
	ck_assert_int_eq(view.spaces[1].end, 200);
	ck_assert_uint_eq(view.blocks.overwritten, 0);
}
END_TEST

START_TEST(devices_without_end)
{
	for (int i = 0; i < 5000; i++)
		memory_of(1, 1, i, 10 + i, 64, 1, 0);
	look();
	ck_assert_uint_eq(model.devices_n, MODEL_DEVICES);
	ck_assert_uint_eq(view.spaces_n, MODEL_DEVICES);
	/* The last one stands for the rest. */
	ck_assert_int_eq(view.spaces[MODEL_DEVICES - 2].bytes, 1);
	ck_assert_int_eq(view.spaces[MODEL_DEVICES - 1].bytes, 5001 - MODEL_DEVICES);
}
END_TEST

/* No sum of what is kept overflows. */
START_TEST(sizes_that_cannot_be)
{
	for (int i = 0; i < 8; i++)
		memory(10 + i, 64 + 64 * (unsigned)i, 1l << 60);
	memory(30, 4096, 7);
	look();
	ck_assert_int_eq(view.spaces[0].bytes, (INT64_C(1) << 60) + 7);
	ck_assert_int_eq(view.spaces[0].end, (INT64_C(1) << 60) + 7);
}
END_TEST

/* ---- what lies in what ---- */

/* Times are rounded: a slice may stand out of its caller by up to a microsecond. */
START_TEST(a_rounded_end_changes_no_parent)
{
	op("aten::outer", 10, 10);
	op("aten::inner", 15, 5.9);
	memory(16, 64, 100);
	op("aten::other", 30, 10);
	op("aten::across", 35, 7);
	memory(36, 128, 100);
	look();
	row(&view.spaces[0].by_site, "aten::inner < aten::outer");
	row(&view.spaces[0].by_site, "aten::across");
}
END_TEST

/* Times of whole microseconds: one begins as another ends, and is none of its callees. */
START_TEST(what_follows_at_once_lies_beside_it)
{
	op("aten::first", 10, 10);
	op("aten::next", 20, 0.5);
	memory(20.25, 64, 100);
	op("aten::last", 30, 10);
	memory(40, 128, 30);
	look();
	ck_assert_int_eq(row(&view.spaces[0].by_site, "aten::next")->bytes, 100);
	for (size_t i = 0; i < view.spaces[0].by_op.n; i++)
		if (view.spaces[0].by_op.rows[i].label == TEXT_NONE)
			ck_assert_int_eq(view.spaces[0].by_op.rows[i].bytes, 30);
}
END_TEST

START_TEST(threads_without_operators_have_no_others)
{
	slice(1, "cpu_op", "aten::first", 10, 10, "");
	slice(3, "cpu_op", "aten::third", 10, 10, "");
	memory_of(2, 0, -1, 15, 64, 100, 0);
	memory_of(3, 0, -1, 15, 128, 30, 0);
	look();
	ck_assert_int_eq(row(&view.spaces[0].by_op, "aten::third")->bytes, 30);
	for (size_t i = 0; i < view.spaces[0].by_op.n; i++)
		if (view.spaces[0].by_op.rows[i].label == TEXT_NONE)
			ck_assert_int_eq(view.spaces[0].by_op.rows[i].bytes, 100);
}
END_TEST

/* ---- steps ---- */

/* Live at the ends: 10, 20, 5. */
static void three_steps(void)
{
	for (int i = 0; i < 3; i++)
		step(3 + i, 100 * (i + 1), 90);
	op("aten::a", 105, 250);
	memory(110, 64, 10);
	memory(210, 128, 10);
	memory(310, 64, -10);
	memory(311, 128, -10);
	memory(312, 192, 5);
}

START_TEST(a_range_has_both_its_ends)
{
	three_steps();
	look_from(3, 4);
	ck_assert_uint_eq(view.steps_n, 2);
	ck_assert_int_eq(view.numbers[0], 3);
	ck_assert_int_eq(view.numbers[1], 4);
}
END_TEST

START_TEST(what_a_step_frees_does_not_live_at_its_end)
{
	three_steps();
	look();
	ck_assert_int_eq(view.spaces[0].churn[0].end, 10);
	ck_assert_int_eq(view.spaces[0].churn[1].end, 20);
	ck_assert_int_eq(view.spaces[0].churn[2].end, 5);
}
END_TEST

START_TEST(what_goes_as_a_step_ends_does_not_live_at_its_end)
{
	step(3, 100, 90);
	step(4, 200, 90);
	op("aten::a", 105, 250);
	memory(110, 64, 10);
	memory(190, 64, -10);
	look();
	ck_assert_int_eq(view.spaces[0].churn[0].end, 0);
}
END_TEST

START_TEST(between_two_steps_is_in_none)
{
	three_steps();
	look();
	for (size_t i = 0; i < model.steps_n; i++) {
		ck_assert_int_eq(model_step(&model, model.steps[i].begin), (long)i);
		ck_assert_int_eq(model_step(&model, model.steps[i].end), (long)i);
		ck_assert_int_eq(model_step(&model, model.steps[i].end + 1), -1);
		ck_assert_int_eq(model_step(&model, model.steps[i].begin - 1), -1);
	}
}
END_TEST

/* One grows at each step, one shrinks once. Of five steps too little is known. */
START_TEST(a_star_is_for_those_that_always_grow)
{
	static const long held[2][6] = { { 1000, 2000, 3000, 4000, 5000, 6000 },
					 { 1000, 9000, 8000, 9000, 9500, 9900 } };
	int n = 6 - _i;

	for (int i = 0; i < n; i++)
		step(i, 100 * (i + 1), 90);
	for (unsigned site = 0; site < 2; site++)
		for (int i = 0; i < n; i++) {
			slice(1 + site, "cpu_op", site ? "aten::odd" : "aten::leak",
			      100 * (i + 1) + 10, 9, "");
			if (i)
				memory_of(1 + site, 0, -1, 100 * (i + 1) + 11, 64 + site,
					  -held[site][i - 1], 0);
			memory_of(1 + site, 0, -1, 100 * (i + 1) + 12, 64 + site,
				  held[site][i], 0);
		}
	look();
	printed();
	says(said, _i ? "(too few steps to suspect a leak)"
		      : "(* = it goes on: a leak suspect)");
	says(said, _i ? "        1000 B/step  aten::leak\n"
		      : "  *     1000 B/step  aten::leak\n");
	says(said, _i ? "       2.1 KiB/step  aten::odd\n"
		      : "       1.7 KiB/step  aten::odd\n");
}
END_TEST

/* 1,000 bytes at every second of 40 steps: no step of its own says so. */
START_TEST(a_star_is_for_growth_on_the_whole)
{
	for (int i = 0; i < 40; i++)
		step(i, 100 * (i + 1), 90);
	for (int i = 0; i < 40; i += 2)
		memory_of(1, 0, -1, 100 * (i + 1) + 11, 64 + (unsigned)i, 1000, 0);
	look();
	printed();
	says(said, "(* = it goes on: a leak suspect)");
	says(said, "  *      487 B/step  ");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("tables");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, temporaries_are_of_one_thread);
	tcase_add_test(tc, a_hundred_thousand_short_lives);
	tcase_add_test(tc, devices_share_no_addresses);
	tcase_add_test(tc, devices_without_end);
	tcase_add_test(tc, sizes_that_cannot_be);
	tcase_add_test(tc, a_rounded_end_changes_no_parent);
	tcase_add_test(tc, what_follows_at_once_lies_beside_it);
	tcase_add_test(tc, threads_without_operators_have_no_others);
	tcase_add_test(tc, a_range_has_both_its_ends);
	tcase_add_test(tc, what_a_step_frees_does_not_live_at_its_end);
	tcase_add_test(tc, what_goes_as_a_step_ends_does_not_live_at_its_end);
	tcase_add_test(tc, between_two_steps_is_in_none);
	tcase_add_loop_test(tc, a_star_is_for_those_that_always_grow, 0, 2);
	tcase_add_test(tc, a_star_is_for_growth_on_the_whole);
	return unit_run(tc, "report tables");
}
