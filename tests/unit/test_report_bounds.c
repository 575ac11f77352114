/* SPDX-License-Identifier: Apache-2.0 */
/* Where steps begin and end. */
#include "tests/unit/steps_trace.h"

#define LOADING "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

/* ---- steps without a GPU ---- */

START_TEST(steps_are_as_they_are_marked)
{
	step(4, 200, 50);
	step(3, 100, 80);
	op("aten::mm", 90, 20);
	op("aten::mm", 240, 30);
	figure();
	ck_assert(steps.marked && !steps.gpu && !steps.communication);
	ck_assert_uint_eq(steps.n, 2);
	ck_assert_int_eq(steps.row[0].number, 3);
	lies(0, 100, 180);
	lies(1, 200, 250);
	has(0, SHARE_CPU, 10);
	has(0, SHARE_OTHER, 70);
	has(1, SHARE_CPU, 10);
	has(1, SHARE_OTHER, 40);
}
END_TEST

START_TEST(without_steps_all_operators_are_one)
{
	slice(1, "python_function", "a.py(1): f", 0, 500, "");
	slice(1, "user_annotation", "mine", 10, 400, "");
	op("aten::mm", 100, 20);
	slice(2, "cpu_op", "aten::add", 150, 30, "");
	figure();
	ck_assert(!steps.marked);
	ck_assert_uint_eq(steps.n, 1);
	ck_assert_int_eq(steps.row[0].number, 0);
	lies(0, 100, 180);
	has(0, SHARE_CPU, 80);
}
END_TEST

/* In one dialect they are annotations, in the other operators. */
START_TEST(loading_and_optimizers_are_operators_of_the_whole)
{
	slice(1, "user_annotation", LOADING, 50, 10, "");
	op("aten::mm", 100, 20);
	slice(1, "user_annotation", "Optimizer.step#SGD.step", 130, 40, "");
	figure();
	lies(0, 50, 170);
	has(0, SHARE_DATALOADER, 10);
	has(0, SHARE_CPU, 60);
	has(0, SHARE_OTHER, 50);
}
END_TEST

START_TEST(without_operators_the_whole_is_all_there_is)
{
	slice(1, "cuda_runtime", "cudaMalloc", 100, 20, "");
	slice(1, "python_function", "a.py(1): f", 50, 100, "");
	figure();
	lies(0, 50, 150);
	has(0, SHARE_RUNTIME, 20);
	has(0, SHARE_OTHER, 80);
}
END_TEST

START_TEST(an_empty_trace_has_no_step)
{
	figure();
	ck_assert_uint_eq(steps.n, 0);
	ck_assert_uint_eq(devices.n, 0);
	ck_assert_int_eq(steps_median(&steps), 0);
	ck_assert(steps_mean(&steps) == 0 && steps_mean_share(&steps, SHARE_CPU) == 0);
	ck_assert_int_eq(steps_at(&steps, 0), -1);
}
END_TEST

/* ---- steps with what they launched ---- */

START_TEST(a_step_ends_with_its_work_and_the_next_begins_there)
{
	step(1, 100, 100);
	step(2, 200, 100);
	launch(1, 150, "kernel", 190, 50);
	launch(2, 210, "kernel", 240, 10);
	figure();
	lies(0, 100, 240);
	lies(1, 240, 300);
	has(0, SHARE_KERNEL, 50);
	has(0, SHARE_RUNTIME, 1);
	has(1, SHARE_KERNEL, 10);
	ck_assert_uint_eq(steps.left_out, 0);
}
END_TEST

/* Also where the work ends behind the next step of the host. */
START_TEST(a_step_may_have_no_time_left)
{
	step(1, 100, 100);
	step(2, 200, 100);
	step(3, 300, 100);
	launch(1, 150, "kernel", 190, 150);
	launch(2, 210, "gpu_memcpy", 250, 10);
	launch(3, 310, "gpu_memset", 350, 10);
	figure();
	lies(0, 100, 340);
	lies(1, 340, 340);
	lies(2, 340, 400);
	has(2, SHARE_MEMSET, 10);
	has(2, SHARE_OTHER, 50);
}
END_TEST

START_TEST(the_first_step_begins_behind_earlier_work)
{
	step(1, 100, 100);
	slice(7, "kernel", "before", 90, 40, "\"correlation\":50,\"device\":0");
	slice(7, "kernel", "late", 90, 75, "\"correlation\":51,\"device\":0");
	launch(1, 150, "kernel", 160, 20);
	figure();
	lies(0, 130, 200);
}
END_TEST

/* A call that only reaches into a step is none of it, nor is its work. */
START_TEST(a_call_belongs_to_the_step_that_holds_it)
{
	step(1, 100, 100);
	step(2, 210, 90);
	launch(1, 99.5, "kernel", 120, 200);
	launch(2, 199.5, "kernel", 205, 300);
	launch(3, 110, "kernel", 120, 10);
	launch(4, 220, "kernel", 230, 10);
	figure();
	lies(0, 100, 200);
	lies(1, 210, 300);
}
END_TEST

START_TEST(calls_of_the_driver_launch_too)
{
	step(1, 100, 100);
	slice(1, "cuda_driver", "cuLaunchKernel", 150, 5, "\"correlation\":3");
	slice(7, "kernel", "triton_", 160, 90, "\"correlation\":3,\"device\":0");
	figure();
	lies(0, 100, 250);
	has(0, SHARE_RUNTIME, 5);
	has(0, SHARE_KERNEL, 90);
}
END_TEST

START_TEST(without_work_of_theirs_steps_stay)
{
	step(1, 100, 100);
	step(2, 150, 100);
	slice(7, "kernel", "gemm", 120, 300, "\"correlation\":3,\"device\":0");
	slice(1, "cuda_runtime", "cudaFree", 110, 5, "\"correlation\":4");
	figure();
	lies(0, 100, 200);
	lies(1, 150, 250);
	/* They overlap: what both have counts in both. */
	has(0, SHARE_KERNEL, 80);
	has(0, SHARE_RUNTIME, 5);
	has(1, SHARE_KERNEL, 100);
}
END_TEST

/* ---- incomplete steps at the end ---- */

static void work_of(unsigned number, unsigned pieces)
{
	step(number, number * 100, 100);
	for (unsigned i = 0; i < pieces; i++)
		launch(number * 10 + i, number * 100 + 10 + i * 5, "kernel",
		       number * 100 + 12 + i * 5, 1);
}

START_TEST(steps_behind_the_last_work_are_left_out)
{
	work_of(1, 5);
	work_of(2, 5);
	work_of(3, 0);
	work_of(4, 0);
	figure();
	ck_assert_uint_eq(steps.n, 2);
	ck_assert_uint_eq(steps.left_out, 2);
}
END_TEST

START_TEST(a_last_step_with_less_than_four_fifths_is_left_out)
{
	work_of(1, 5);
	work_of(2, 3);
	figure();
	ck_assert_uint_eq(steps.n, 1);
	ck_assert_uint_eq(steps.left_out, 1);
}
END_TEST

START_TEST(a_last_step_with_four_fifths_stays)
{
	work_of(1, 5);
	work_of(2, 4);
	figure();
	ck_assert_uint_eq(steps.n, 2);
	ck_assert_uint_eq(steps.left_out, 0);
}
END_TEST

START_TEST(the_only_step_stays)
{
	work_of(1, 0);
	figure();
	ck_assert_uint_eq(steps.n, 1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_bounds");

	tcase_add_checked_fixture(tc, begin, done);
	tcase_add_test(tc, steps_are_as_they_are_marked);
	tcase_add_test(tc, without_steps_all_operators_are_one);
	tcase_add_test(tc, loading_and_optimizers_are_operators_of_the_whole);
	tcase_add_test(tc, without_operators_the_whole_is_all_there_is);
	tcase_add_test(tc, an_empty_trace_has_no_step);
	tcase_add_test(tc, a_step_ends_with_its_work_and_the_next_begins_there);
	tcase_add_test(tc, a_step_may_have_no_time_left);
	tcase_add_test(tc, the_first_step_begins_behind_earlier_work);
	tcase_add_test(tc, a_call_belongs_to_the_step_that_holds_it);
	tcase_add_test(tc, calls_of_the_driver_launch_too);
	tcase_add_test(tc, without_work_of_theirs_steps_stay);
	tcase_add_test(tc, steps_behind_the_last_work_are_left_out);
	tcase_add_test(tc, a_last_step_with_less_than_four_fifths_is_left_out);
	tcase_add_test(tc, a_last_step_with_four_fifths_stays);
	tcase_add_test(tc, the_only_step_stays);
	return unit_run(tc, "report_bounds");
}
