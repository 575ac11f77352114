/* SPDX-License-Identifier: Apache-2.0 */
/* Operators, with torch's definitions (profiler_util.py of torch 2.13). The tables are
 * compared with torch's own in tests/e2e/test_report_operators.py. */
#include "report/figures/sum.h"
#include "tests/unit/operators_trace.h"

#define LAUNCHED(id) "\"External id\":" #id

START_TEST(what_is_inside_is_in_the_total_and_not_in_self)
{
	op("a", 0, 100);
	op("b", 10, 30);
	op("c", 20, 5);
	op("b", 50, 20);
	all_operators();
	ck_assert_int_eq(operator_of("a", -1)->cpu, 100000);
	ck_assert_int_eq(operator_of("a", -1)->self_cpu, 50000);
	ck_assert_int_eq(operator_of("b", -1)->cpu, 50000);
	ck_assert_int_eq(operator_of("b", -1)->self_cpu, 45000);
	ck_assert_uint_eq(operator_of("b", -1)->count, 2);
	ck_assert_int_eq(found.self_cpu, 100000);
	ck_assert(!found.device && !found.shapes);
}
END_TEST

/* To the nanosecond: what stands out by one is beside. */
START_TEST(what_stands_out_is_not_inside)
{
	op("a", 0, 100);
	op("b", 10, 90.001);
	all_operators();
	ck_assert_int_eq(operator_of("a", -1)->self_cpu, 100000);
}
END_TEST

START_TEST(an_only_child_of_the_same_name_is_no_event)
{
	op("a", 0, 100);
	op("a", 10, 50);
	op("b", 20, 10);
	op("a", 200, 100);
	op("a", 210, 10);
	op("b", 230, 10);
	all_operators();
	ck_assert_uint_eq(operator_of("a", -1)->count, 3);
	ck_assert_int_eq(operator_of("a", -1)->cpu, 210000);
	ck_assert_int_eq(operator_of("a", -1)->self_cpu, 90000 + 80000 + 10000);
}
END_TEST

START_TEST(steps_are_one_row)
{
	step(7, 0, 100);
	step(8, 200, 50);
	all_operators();
	ck_assert_uint_eq(found.n, 1);
	ck_assert_str_eq(row_name(0), "ProfilerStep*");
	ck_assert_uint_eq(found.row[0].count, 2);
}
END_TEST

START_TEST(an_annotation_is_not_an_operator_of_its_name)
{
	op("a", 0, 10);
	slice(1, "user_annotation", "a", 20, 30, "");
	slice(7, "gpu_user_annotation", "a", 20, 30, "");
	slice(7, "kernel", "a", 21, 5, "");
	all_operators();
	ck_assert_uint_eq(found.n, 4);
	ck_assert_int_eq(operator_of("a", SLICE_OP)->cpu, 10000);
	ck_assert_int_eq(operator_of("a", SLICE_NOTE)->cpu, 30000);
	ck_assert_int_eq(operator_of("a", SLICE_DEVICE)->cpu, 0);
	/* A file has 1 ns more of it at each end. */
	ck_assert_int_eq(operator_of("a", SLICE_DEVICE_NOTE)->device, 29998);
	ck_assert_int_eq(found.self_device, 5000);
}
END_TEST

START_TEST(work_is_of_who_launched_it_and_in_a_row_of_its_own)
{
	slice(1, "cpu_op", "outer", 0, 100, LAUNCHED(1));
	slice(1, "cpu_op", "inner", 10, 50, LAUNCHED(2));
	slice(1, "cuda_runtime", "cudaLaunchKernel", 20, 5, LAUNCHED(2));
	slice(7, "kernel", "k", 100, 40, LAUNCHED(2));
	slice(7, "gpu_memcpy", "copy", 200, 7, LAUNCHED(1));
	slice(7, "gpu_memset", "set", 300, 3, LAUNCHED(9));
	all_operators();
	ck_assert_int_eq(operator_of("outer", -1)->device, 47000);
	ck_assert_int_eq(operator_of("outer", -1)->self_device, 7000);
	ck_assert_int_eq(operator_of("inner", -1)->self_device, 40000);
	ck_assert_int_eq(operator_of("inner", -1)->self_cpu, 45000);
	ck_assert_int_eq(operator_of("cudaLaunchKernel", -1)->device, 0);
	ck_assert_int_eq(operator_of("k", -1)->self_device, 40000);
	ck_assert_int_eq(operator_of("set", -1)->self_device, 3000);
	ck_assert_int_eq(found.self_device, 50000);
	ck_assert(found.device);
}
END_TEST

START_TEST(a_twins_work_takes_the_place_of_its_parents)
{
	slice(1, "cpu_op", "a", 0, 100, LAUNCHED(1));
	slice(1, "cpu_op", "a", 10, 50, LAUNCHED(2));
	slice(7, "kernel", "k", 100, 40, LAUNCHED(1));
	slice(7, "kernel", "k", 200, 5, LAUNCHED(2));
	all_operators();
	ck_assert_int_eq(operator_of("a", -1)->device, 5000);
}
END_TEST

/* torch takes the number of a call that nobody made for an operator's: its own doubles
 * have that, the time in ns is right. */
START_TEST(a_calls_number_is_no_operators_but_in_torchs_times)
{
	slice(1, "cpu_op", "a", 0, 100, LAUNCHED(5));
	slice(1, "cuda_runtime", "cudaDeviceSynchronize", 200, 9, "\"correlation\":5");
	slice(7, "kernel", "k", 100, 40, LAUNCHED(5));
	all_operators();
	ck_assert_int_eq(operator_of("cudaDeviceSynchronize", -1)->device, 0);
	ck_assert_double_eq(operator_of("cudaDeviceSynchronize", -1)->torch.device, 40);
	ck_assert_double_eq(operator_of("a", -1)->torch.device, 40);
}
END_TEST

/* On any thread, at both ends; bytes of a GPU apart. */
START_TEST(memory_of_an_interval_is_an_operators)
{
	op("a", 10, 10);
	op("b", 12, 3);
	memory_of(2, 0, -1, 9.999, 1, 1, 0);
	memory_of(2, 0, -1, 10, 1, 2, 0);
	memory_of(2, 0, -1, 12, 1, 4, 0);
	memory_of(1, 1, 0, 15, 1, 8, 0);
	memory_of(1, 0, -1, 20, 1, -16, 0);
	memory_of(1, 13, 0, 20, 1, 32, 0);
	memory_of(1, 0, -1, 20.001, 1, 64, 0);
	all_operators();
	ck_assert_int_eq(operator_of("a", -1)->cpu_memory, 2 + 4 - 16);
	ck_assert_int_eq(operator_of("a", -1)->self_cpu_memory, 2 - 16);
	ck_assert_int_eq(operator_of("a", -1)->device_memory, 8);
	ck_assert_int_eq(operator_of("a", -1)->self_device_memory, 0);
	ck_assert_int_eq(operator_of("b", -1)->cpu_memory, 4);
	ck_assert_int_eq(operator_of("b", -1)->self_device_memory, 8);
	ck_assert_uint_eq(operator_of("[memory]", -1)->count, 2);
	ck_assert_int_eq(operator_of("[memory]", -1)->cpu_memory, 65);
}
END_TEST

START_TEST(rows_by_shape_have_torchs_texts)
{
	slice(1, "cpu_op", "cat", 0, 1, "\"Input Dims\":[[[2,3],[4]],[5]]");
	slice(1, "cpu_op", "cat", 10, 2, "\"Input Dims\":[[[7]],[5]]");
	slice(1, "cpu_op", "cat", 20, 4, "\"Input Dims\":[[6],[5]]");
	op("cat", 30, 8);
	operators_of(OPERATORS_BY_SHAPE, INT64_MIN, INT64_MAX);
	ck_assert(found.shapes);
	ck_assert_uint_eq(found.n, 3);
	ck_assert_str_eq(texts_get(&model.texts, found.row[0].shapes), "[]");
	ck_assert_str_eq(texts_get(&model.texts, found.row[1].shapes), "[[6], [5]]");
	ck_assert_str_eq(texts_get(&model.texts, found.row[2].shapes), "[[], [5]]");
	ck_assert_int_eq(found.row[2].cpu, 3000);
}
END_TEST

/* Kineto writes the shapes of up to 30 tensors of a list, and an optimizer has five
 * lists. */
START_TEST(long_lists_are_read_to_their_end)
{
	static char args[8192] = "\"Input Dims\":[";

	for (unsigned i = 0; i < 150; i++)
		sprintf(args + strlen(args), "%s[%u, 7, 7, 512]%s", i % 30 ? "," : "[", i,
			i % 30 == 29 ? "]," : "");
	strcat(args, "[5]]");
	slice(1, "cpu_op", "adam", 0, 1, args);
	operators_of(OPERATORS_BY_SHAPE, INT64_MIN, INT64_MAX);
	ck_assert_str_eq(texts_get(&model.texts, found.row[0].shapes),
			 "[[], [], [], [], [], [5]]");
}
END_TEST

START_TEST(by_name_there_are_no_shapes)
{
	slice(1, "cpu_op", "cat", 0, 1, "\"Input Dims\":[[5]]");
	all_operators();
	ck_assert(found.shapes);
	ck_assert_uint_eq(found.row[0].shapes, TEXT_NONE);
}
END_TEST

/* What begins in the range counts whole, and is taken from what is around it. */
START_TEST(a_range_is_of_beginnings)
{
	op("a", 0, 100);
	op("b", 10, 30);
	op("c", 40, 10);
	op("d", 50, 10);
	memory(300, 1, 8);
	operators_of(OPERATORS_BY_NAME, 10000, 50000);
	ck_assert_uint_eq(found.n, 2);
	ck_assert_int_eq(found.self_cpu, 40000);
}
END_TEST

/* The largest own time first; `first` is the order of beginnings, of all threads. */
START_TEST(rows_are_in_order)
{
	slice(2, "cpu_op", "b", 5, 10, "");
	op("a", 0, 10);
	slice(2, "cpu_op", "c", 30, 20, "");
	memory(2000, 1, 1);
	all_operators();
	ck_assert_str_eq(row_name(0), "c");
	ck_assert_uint_eq(operator_of("a", -1)->first, 0);
	ck_assert_uint_eq(operator_of("b", -1)->first, 1);
	ck_assert_uint_eq(operator_of("c", -1)->first, 2);
	ck_assert_uint_eq(operator_of("[memory]", -1)->first, 3);
	ck_assert_str_eq(row_name(1), "a");
}
END_TEST

START_TEST(of_two_threads_the_longer_is_first)
{
	op("a", 0, 10);
	slice(2, "cpu_op", "b", 0, 20, "");
	slice(3, "cpu_op", "c", 0, 20, "");
	all_operators();
	ck_assert_uint_eq(operator_of("b", -1)->first, 0);
	ck_assert_uint_eq(operator_of("c", -1)->first, 1);
	ck_assert_uint_eq(operator_of("a", -1)->first, 2);
}
END_TEST

START_TEST(what_torch_leaves_out_is_left_out)
{
	op("aten::is_leaf", 0, 10);
	op("[memory]", 20, 10);
	slice(7, "gpu_user_annotation", "aten::_version", 20, 30, "");
	op("a", 40, 1);
	all_operators();
	ck_assert_uint_eq(found.n, 1);
}
END_TEST

/* Ten times 0.1 is 1 to Python's sum(), and less if each sum is rounded. */
START_TEST(torchs_times_are_summed_as_python_does)
{
	slice(1, "cpu_op", "a", 0, 10, LAUNCHED(1));
	for (unsigned i = 0; i < 10; i++)
		slice(10 + i, "kernel", "k", 0, 0.1, LAUNCHED(1));
	all_operators();
	ck_assert_double_eq(operator_of("a", -1)->torch.device, 1.0);
	ck_assert_double_lt(operator_of("k", -1)->torch.device, 1.0);
}
END_TEST

START_TEST(own_times_are_summed_as_python_does)
{
	struct python_sum sum = { 0 };

	for (unsigned i = 0; i < 10; i++)
		python_sum_add(&sum, 0.1);
	ck_assert_double_eq(python_sum_of(&sum), 1.0);
}
END_TEST

START_TEST(sums_stay_at_their_ends)
{
	for (unsigned i = 0; i < 3; i++) {
		slice(i, "cpu_op", "a", 0, 9e15, LAUNCHED(1));
		slice(i, "cpu_op", "b", 1, 8e15, LAUNCHED(1));
		slice(i, "cpu_op", "c", 8.5e15, 4e14, "");
		slice(9, "kernel", "k", 10, 9e15, LAUNCHED(1));
	}
	all_operators();
	ck_assert_int_eq(operator_of("a", -1)->cpu, INT64_MAX);
	ck_assert_int_eq(operator_of("k", -1)->device, INT64_MAX);
	ck_assert_int_eq(operator_of("a", -1)->device, INT64_MAX);
	ck_assert_int_ge(operator_of("a", -1)->self_cpu, 0);
}
END_TEST

START_TEST(a_trace_of_nothing_has_no_rows)
{
	all_operators();
	ck_assert_uint_eq(found.n, 0);
}
END_TEST

/* The mean is by time; who says nothing counts as 0. */
START_TEST(kernels_by_name)
{
	slice(7, "kernel", "k", 0, 10,
	      "\"blocks per SM\":1.5,\"est. achieved occupancy %\":50");
	slice(7, "kernel", "k", 20, 30, "\"blocks per SM\":0.5");
	slice(7, "kernel", "l", 60, 5, "\"est. achieved occupancy %\":-100");
	slice(7, "gpu_memcpy", "k", 70, 1, "\"bytes\":100");
	slice(7, "gpu_memcpy", "k", 80, 2, "\"bytes\":20");
	slice(7, "gpu_memset", "set", 90, 0, "");
	all_kernels();
	ck_assert_uint_eq(kernels.n, 4);
	ck_assert_int_eq(kernels.total, 48000);
	ck_assert_ptr_eq(kernel("k"), &kernels.row[0]);
	ck_assert_uint_eq(kernel("k")->count, 2);
	ck_assert_int_eq(kernel("k")->least, 10000);
	ck_assert_int_eq(kernel("k")->most, 30000);
	ck_assert_double_eq_tol(kernel("k")->blocks_per_sm, 0.75, 1e-12);
	ck_assert_double_eq_tol(kernel("k")->occupancy, 12.5, 1e-12);
	ck_assert_int_eq(kernel("k")->bytes, -1);
	ck_assert_double_lt(kernel("l")->blocks_per_sm, 0);
	ck_assert_double_lt(kernel("l")->occupancy, 0);
	ck_assert_int_eq(kernels.row[2].bytes, 120);
	ck_assert_uint_eq(kernels.row[2].sort, SORT_COPY);
	ck_assert_int_eq(kernel("set")->bytes, -1);
	ck_assert_int_eq(kernel("set")->least, 0);
}
END_TEST

START_TEST(a_kernels_operator_launched_most_of_its_time)
{
	slice(1, "cpu_op", "a", 0, 1, LAUNCHED(1));
	slice(1, "cpu_op", "b", 2, 1, LAUNCHED(2));
	slice(1, "cpu_op", "b", 4, 1, LAUNCHED(3));
	slice(7, "kernel", "k", 10, 10, LAUNCHED(1));
	slice(7, "kernel", "k", 20, 6, LAUNCHED(2));
	slice(7, "kernel", "k", 30, 6, LAUNCHED(3));
	slice(7, "kernel", "k", 40, 90, "");
	slice(7, "kernel", "l", 200, 9, LAUNCHED(4));
	all_kernels();
	ck_assert_str_eq(texts_get(&model.texts, kernel("k")->op), "b");
	ck_assert_uint_eq(kernel("l")->op, TEXT_NONE);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_operators");

	tcase_add_checked_fixture(tc, begin, finish);
	tcase_add_test(tc, what_is_inside_is_in_the_total_and_not_in_self);
	tcase_add_test(tc, what_stands_out_is_not_inside);
	tcase_add_test(tc, an_only_child_of_the_same_name_is_no_event);
	tcase_add_test(tc, steps_are_one_row);
	tcase_add_test(tc, an_annotation_is_not_an_operator_of_its_name);
	tcase_add_test(tc, work_is_of_who_launched_it_and_in_a_row_of_its_own);
	tcase_add_test(tc, a_twins_work_takes_the_place_of_its_parents);
	tcase_add_test(tc, a_calls_number_is_no_operators_but_in_torchs_times);
	tcase_add_test(tc, memory_of_an_interval_is_an_operators);
	tcase_add_test(tc, rows_by_shape_have_torchs_texts);
	tcase_add_test(tc, long_lists_are_read_to_their_end);
	tcase_add_test(tc, by_name_there_are_no_shapes);
	tcase_add_test(tc, a_range_is_of_beginnings);
	tcase_add_test(tc, rows_are_in_order);
	tcase_add_test(tc, of_two_threads_the_longer_is_first);
	tcase_add_test(tc, what_torch_leaves_out_is_left_out);
	tcase_add_test(tc, torchs_times_are_summed_as_python_does);
	tcase_add_test(tc, own_times_are_summed_as_python_does);
	tcase_add_test(tc, sums_stay_at_their_ends);
	tcase_add_test(tc, a_trace_of_nothing_has_no_rows);
	tcase_add_test(tc, kernels_by_name);
	tcase_add_test(tc, a_kernels_operator_launched_most_of_its_time);
	return unit_run(tc, "report_operators");
}
