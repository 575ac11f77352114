/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks beside one another: which collective is which, clocks, waiting and stragglers.
 * Real programs, and the plugin's own numbers: tests/e2e/test_report_ranks.py. */
#include "report/ranks/collective_sums.h"
#include "tests/unit/ranks_files.h"

/* ---- waiting ---- */

START_TEST(the_shortest_of_a_collective_is_its_transfer)
{
	put_rank(0, 3, 300, 0);
	put_rank(1, 3, 800, 0);
	read_all();
	ck_assert_uint_eq(all.n, 2);
	ck_assert_uint_eq(all.match.n, 3);
	ck_assert_uint_eq(all.match.alone, 0);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(all.row[0].steps[i].waiting, 500000);
		ck_assert_int_eq(all.row[0].steps[i].transfer, 100000);
		ck_assert_int_eq(all.row[1].steps[i].waiting, 0);
		ck_assert_int_eq(all.row[1].steps[i].late, 500000);
		ck_assert_int_eq(all.row[0].steps[i].late, 0);
	}
	ck_assert_double_eq(all.verdict[1].late, 500000);
}
END_TEST

START_TEST(ranks_are_by_number_whatever_the_order_of_files)
{
	put_rank(2, 1, 300, 0);
	put_rank(0, 1, 300, 0);
	read_all();
	ck_assert_int_eq(all.row[0].number, 0);
	ck_assert_int_eq(all.row[1].number, 2);
	ck_assert_str_eq(all.row[1].path, path[0]);
}
END_TEST

START_TEST(collectives_that_not_all_have_are_alone)
{
	put_rank(0, 3, 300, 0);
	put_rank(1, 2, 300, 0);
	read_all();
	ck_assert_uint_eq(all.match.n, 2);
	ck_assert_uint_eq(all.match.alone, 1);
	ck_assert_int_eq(all.row[0].steps[2].waiting, 0);
	ck_assert_uint_eq(all.judged, 2);
}
END_TEST

START_TEST(sums_are_by_name)
{
	struct collective_sums sums;

	put_rank(0, 3, 300, 0);
	put_rank(1, 3, 800, 0);
	read_all();
	ck_assert(collective_sums_make(&sums, &all.row[0]));
	ck_assert_uint_eq(sums.n, 1);
	ck_assert_uint_eq(sums.row[0].calls, 3);
	ck_assert_int_eq(sums.row[0].bytes, 3 * 1000);
	ck_assert_int_eq(sums.row[0].time, 3 * 600000);
	ck_assert_int_eq(sums.row[0].transfer, 3 * 100000);
	collective_sums_free(&sums);
}
END_TEST

/* ---- clocks ---- */

START_TEST(a_clock_that_is_far_ahead_is_put_right)
{
	put_rank(0, 5, 300, 0);
	put_rank(1, 5, 800, 70000);
	read_all();
	ck_assert_int_eq(all.row[0].offset, 0);
	ck_assert_int_eq(all.row[1].offset, 70000000);
	ck_assert(!all.bounds[1].apart);
	ck_assert_int_le(all.bounds[1].low, 70000000);
	ck_assert_int_ge(all.bounds[1].high, 70000000);
	ck_assert_double_eq(all.verdict[1].late, 500000);
	ck_assert_double_eq(all.verdict[0].late, 0);
}
END_TEST

START_TEST(a_difference_within_half_the_bounds_is_none)
{
	put_rank(0, 5, 300, 0);
	put_rank(1, 5, 300, 40);
	read_all();
	ck_assert_int_eq(all.bounds[1].estimate, 40000);
	ck_assert_int_eq(all.row[1].offset, 0);
}
END_TEST

/* ---- stragglers ---- */

START_TEST(a_rank_just_above_the_threshold_is_a_straggler)
{
	for (unsigned i = 0; i < RANKS; i++)
		put_rank(i, 3, i == 2 ? 331 : 300, 0);
	read_all();
	ck_assert(all.verdict[2].straggler);
	ck_assert_uint_eq(all.verdict[2].slow, 3);
	for (unsigned i = 0; i < RANKS; i++)
		ck_assert(i == 2 || !all.verdict[i].straggler);
}
END_TEST

START_TEST(a_rank_just_below_the_threshold_is_none)
{
	for (unsigned i = 0; i < RANKS; i++)
		put_rank(i, 3, i == 2 ? 329 : 300, 0);
	read_all();
	ck_assert(!all.verdict[2].straggler);
}
END_TEST

START_TEST(it_must_hold_in_two_thirds_of_the_steps)
{
	for (unsigned i = 0; i < 3; i++) {
		begin_rank(i);
		for (unsigned step = 1; step <= 6; step++)
			put_step(step, i == 1 && step <= 3 ? 600 : 300);
		end_rank();
	}
	read_all();
	ck_assert_uint_eq(all.verdict[1].slow, 3);
	ck_assert(!all.verdict[1].straggler);
}
END_TEST

/* An operator that waits for the others does not compute. */
START_TEST(waiting_inside_an_operator_is_no_computation)
{
	for (unsigned i = 0; i < 2; i++) {
		begin_rank(i);
		put_step(1, i ? 800 : 300);
		slice(1, "cpu_op", "wait", 1000 + (i ? 800 : 300), i ? 100 : 600, "");
		end_rank();
	}
	read_all();
	ck_assert_int_eq(all.row[0].steps[0].time.computation, 900000);
	ck_assert_int_eq(all.row[0].steps[0].compute, 400000);
	ck_assert_int_eq(all.row[1].steps[0].compute, 900000);
	ck_assert(all.verdict[1].straggler);
}
END_TEST

/* ---- GPUs ---- */

START_TEST(collectives_are_nccls_kernels_where_there_are_some)
{
	for (unsigned i = 0; i < 2; i++) {
		begin_rank(i);
		slice(1, "user_annotation", "ProfilerStep#1", 0, 1000, "");
		slice(1, "cpu_op", "nccl:all_reduce", 10, 20,
		      "\"External id\":7,\"Input Dims\":[[250]],\"Input type\":[\"float\"]");
		slice(1, "cuda_runtime", "cudaLaunchKernel", 12, 2,
		      "\"External id\":7,\"correlation\":3");
		slice(7, "kernel", "gemm", 100, 200,
		      "\"External id\":8,\"correlation\":2,\"device\":0,\"stream\":7");
		slice(8, "kernel", "ncclDevKernel_AllReduce_Sum_f32(x)", i ? 250 : 150,
		      i ? 100 : 200,
		      "\"External id\":7,\"correlation\":3,\"device\":0,\"stream\":8");
		end_rank();
	}
	read_all();
	ck_assert_uint_eq(all.row[0].collectives_n, 1);
	ck_assert_str_eq(texts_get(&all.names, all.row[0].collectives[0].name),
			 "nccl:all_reduce");
	ck_assert_int_eq(all.row[0].collectives[0].bytes, 1000);
	ck_assert_int_eq(all.row[0].steps[0].waiting, 100000);
	ck_assert_int_eq(all.row[0].steps[0].time.both, 150000);
	ck_assert_int_eq(all.row[0].steps[0].compute, 200000);
}
END_TEST

START_TEST(a_file_that_is_none_is_said)
{
	put_rank(0, 1, 300, 0);
	paths[files++] = "/none/at/all.json";
	ck_assert(!ranks_read(&all, paths, files, why, sizeof(why)));
	ck_assert_ptr_nonnull(strstr(why, "/none/at/all.json"));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_ranks");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_shortest_of_a_collective_is_its_transfer);
	tcase_add_test(tc, ranks_are_by_number_whatever_the_order_of_files);
	tcase_add_test(tc, collectives_that_not_all_have_are_alone);
	tcase_add_test(tc, sums_are_by_name);
	tcase_add_test(tc, a_clock_that_is_far_ahead_is_put_right);
	tcase_add_test(tc, a_difference_within_half_the_bounds_is_none);
	tcase_add_test(tc, a_rank_just_above_the_threshold_is_a_straggler);
	tcase_add_test(tc, a_rank_just_below_the_threshold_is_none);
	tcase_add_test(tc, it_must_hold_in_two_thirds_of_the_steps);
	tcase_add_test(tc, waiting_inside_an_operator_is_no_computation);
	tcase_add_test(tc, collectives_are_nccls_kernels_where_there_are_some);
	tcase_add_test(tc, a_file_that_is_none_is_said);
	return unit_run(tc, "report_ranks");
}
