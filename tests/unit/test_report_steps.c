/* SPDX-License-Identifier: Apache-2.0 */
/* Which share each moment of a step is of. */
#include "tests/unit/steps_trace.h"

#define LOADING "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

/* ---- shares ---- */

/* Each begins 10 us before the next in rank, and all end together. */
START_TEST(each_moment_is_of_the_first_that_is_busy)
{
	step(1, 0, 100);
	op("aten::mm", 10, 80);
	slice(1, "user_annotation", LOADING, 20, 70, "");
	slice(2, "cuda_runtime", "cudaFree", 30, 60, "");
	slice(3, "cpu_op", "gloo:all_reduce", 40, 50, "");
	slice(7, "gpu_memset", "Memset", 50, 40, "\"device\":0");
	slice(8, "gpu_memcpy", "Memcpy", 60, 30, "\"device\":0");
	slice(9, "kernel", "gemm", 70, 20, "\"device\":0");
	figure();
	ck_assert(steps.gpu && steps.communication);
	has(0, SHARE_KERNEL, 20);
	for (int i = SHARE_MEMCPY; i < SHARE_OTHER; i++)
		has(0, i, 10);
	has(0, SHARE_OTHER, 20);
}
END_TEST

START_TEST(what_overlaps_counts_once)
{
	step(1, 0, 100);
	slice(2, "cpu_op", "a", 10, 30, "");
	slice(3, "cpu_op", "b", 20, 30, "");
	slice(4, "cpu_op", "c", 50, 10, "");
	op("d", 90, 30);
	figure();
	has(0, SHARE_CPU, 60);
	has(0, SHARE_OTHER, 40);
}
END_TEST

/* The plugin would count the operator in full. */
START_TEST(a_full_step_has_no_room_for_others)
{
	step(1, 0, 100);
	slice(7, "kernel", "gemm", 0, 100, "\"device\":0");
	op("aten::mm", 10, 65);
	figure();
	has(0, SHARE_KERNEL, 100);
	has(0, SHARE_CPU, 0);
	has(0, SHARE_OTHER, 0);
}
END_TEST

START_TEST(a_loaders_name_has_its_beginning_and_its_end)
{
	step(1, 0, 100);
	slice(1, "cpu_op", LOADING, 0, 10, "");
	slice(1, "user_annotation", "enumerate(DataPipe)#Mapper", 10, 10, "");
	slice(1, "user_annotation", "enumerate(DataLoader)#X.__init__", 20, 10, "");
	slice(1, "user_annotation", "my enumerate(DataLoader)#X.__next__", 30, 10, "");
	figure();
	has(0, SHARE_DATALOADER, 20);
	has(0, SHARE_CPU, 20);
}
END_TEST

/* Nor are annotations of the GPU's rows, and steps. */
START_TEST(functions_of_python_are_of_no_share)
{
	step(1, 0, 100);
	slice(1, "python_function", "a.py(1): f", 0, 100, "");
	slice(7, "gpu_user_annotation", "nccl:all_reduce", 0, 100, "");
	op("aten::mm", 10, 5);
	figure();
	has(0, SHARE_CPU, 5);
	has(0, SHARE_OTHER, 95);
	ck_assert(!steps.communication);
}
END_TEST

START_TEST(a_collectives_kernels_are_communication)
{
	step(1, 0, 100);
	slice(1, "user_annotation", "nccl:all_reduce", 0, 10, "\"External id\":5");
	slice(1, "user_annotation", "nccl:_all_gather_base", 10, 10, "\"External id\":6");
	slice(7, "kernel", "mine", 20, 10, "\"External id\":5,\"device\":0");
	slice(7, "kernel", "ncclDevKernel_AllReduce(x)", 30, 10,
	      "\"External id\":9,\"device\":0");
	slice(7, "kernel", "ncclKernel_AllReduce", 40, 10, "\"device\":0");
	slice(7, "kernel", "mine", 50, 10, "\"External id\":6,\"device\":0");
	slice(7, "gpu_memcpy", "Memcpy", 60, 10, "\"External id\":5,\"device\":0");
	figure();
	has(0, SHARE_COMMUNICATION, 40);
	has(0, SHARE_KERNEL, 10);
	has(0, SHARE_MEMCPY, 10);
	has(0, SHARE_CPU, 10);
}
END_TEST

START_TEST(ten_names_are_collectives)
{
	ck_assert(steps_is_collective("nccl:broadcast"));
	ck_assert(steps_is_collective("gloo:reduce_scatter"));
	ck_assert(!steps_is_collective("nccl:send"));
	ck_assert(!steps_is_collective("nccl:all_reduce_coalesced"));
	ck_assert(!steps_is_collective("mpi:reduce"));
	ck_assert(!steps_is_collective("reduce"));
	ck_assert(!steps_is_collective(""));
}
END_TEST

START_TEST(categories_of_the_other_dialect_count)
{
	step(1, 0, 100);
	slice(1, "Operator", "aten::mm", 0, 10, "");
	slice(1, "Runtime", "cudaLaunchKernel", 10, 5, "\"correlation\":1");
	slice(7, "Kernel", "gemm", 20, 100, "\"correlation\":1,\"device\":0");
	slice(7, "Memcpy", "Memcpy", 16, 2, "\"correlation\":1,\"device\":0");
	figure();
	lies(0, 0, 120);
	has(0, SHARE_CPU, 10);
	has(0, SHARE_RUNTIME, 5);
	has(0, SHARE_KERNEL, 100);
	has(0, SHARE_MEMCPY, 2);
}
END_TEST

/* ---- times of any size ---- */

START_TEST(hostile_times_harm_nothing)
{
	step(1, 0, 9.2e15);
	step(2, 1, 9.2e15);
	step(3, 2, 9.2e15);
	slice(1, "cpu_op", "a", -50, 100, "");
	slice(1, "cpu_op", "b", 10, -5, "");
	slice(1, "cpu_op", "c", 1e300, 5, "");
	for (unsigned i = 1; i < 40; i++)
		launch(i, i, "kernel", i, 9.2e15);
	figure();
	ck_assert_uint_eq(steps.n, 1);
	for (size_t i = 0; i < steps.n; i++) {
		int64_t sum = 0;

		for (int k = 0; k < SHARES; k++) {
			ck_assert_int_ge(steps.row[i].share[k], 0);
			sum += steps.row[i].share[k];
		}
		ck_assert_int_eq(sum, steps.row[i].end - steps.row[i].begin);
	}
	ck_assert_uint_eq(devices.n, 1);
	ck_assert_int_eq(devices.row[0].kernel_time, INT64_MAX);
}
END_TEST

/* ---- questions ---- */

START_TEST(the_middle_and_the_mean_of_steps)
{
	step(1, 0, 10);
	step(2, 100, 40);
	step(3, 200, 20);
	step(4, 300, 31);
	op("a", 105, 4);
	figure();
	ck_assert_int_eq(steps_median(&steps), 25500);
	ck_assert(steps_mean(&steps) == 25250);
	ck_assert(steps_mean_share(&steps, SHARE_CPU) == 1000);
	steps.n = 3;
	ck_assert_int_eq(steps_median(&steps), 20000);
	steps.n = 1;
	ck_assert_int_eq(steps_median(&steps), 10000);
}
END_TEST

START_TEST(the_step_of_a_moment)
{
	step(1, 10, 10);
	step(2, 20, 10);
	step(3, 40, 10);
	figure();
	ck_assert_int_eq(steps_at(&steps, 9999), -1);
	ck_assert_int_eq(steps_at(&steps, 10000), 0);
	ck_assert_int_eq(steps_at(&steps, 20000), 1);
	ck_assert_int_eq(steps_at(&steps, 35000), -1);
	ck_assert_int_eq(steps_at(&steps, 50000), 2);
	ck_assert_int_eq(steps_at(&steps, INT64_MAX), -1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_steps");

	tcase_add_checked_fixture(tc, begin, done);
	tcase_add_test(tc, each_moment_is_of_the_first_that_is_busy);
	tcase_add_test(tc, what_overlaps_counts_once);
	tcase_add_test(tc, a_full_step_has_no_room_for_others);
	tcase_add_test(tc, a_loaders_name_has_its_beginning_and_its_end);
	tcase_add_test(tc, functions_of_python_are_of_no_share);
	tcase_add_test(tc, a_collectives_kernels_are_communication);
	tcase_add_test(tc, ten_names_are_collectives);
	tcase_add_test(tc, categories_of_the_other_dialect_count);
	tcase_add_test(tc, hostile_times_harm_nothing);
	tcase_add_test(tc, the_middle_and_the_mean_of_steps);
	tcase_add_test(tc, the_step_of_a_moment);
	return unit_run(tc, "report_steps");
}
