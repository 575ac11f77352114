/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows GPU work is on, and what it is linked to. */
#include "tests/unit/cuda_image.h"

START_TEST(work_belongs_to_the_innermost_operator)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	long outer, inner;

	image_op(m, "outer", 2000, 20000);
	image_op(m, "inner", 3000, 9000);
	image_op(m, "note", 4000, 8000)->r.kind = REC_ANNOTATION;
	cuda_call(m, "launch_in", 1, 5000, 6000);
	cuda_call(m, "launch_out", 2, 10000, 11000);
	cuda_call(m, "launch_free", 3, 30000, 31000);
	cuda_kernel(m, "k_in", 1, 7, 12000, 13000, 0);
	cuda_kernel(m, "k_out", 2, 7, 14000, 15000, 0);
	cuda_kernel(m, "k_free", 3, 7, 40000, 41000, 0);
	image_write(m);
	outer = cuda_number(m, "outer", 0, "External id");
	inner = cuda_number(m, "inner", 0, "External id");
	ck_assert_int_eq(cuda_number(m, "launch_in", 0, "External id"), inner);
	ck_assert_int_eq(cuda_number(m, "k_in", 0, "External id"), inner);
	ck_assert_int_eq(cuda_number(m, "launch_out", 0, "External id"), outer);
	ck_assert_int_eq(cuda_number(m, "k_out", 0, "External id"), outer);
	ck_assert_ptr_null(cuda_arg(m, "launch_free", 0, "External id"));
	ck_assert_ptr_null(cuda_arg(m, "k_free", 0, "External id"));
	ck_assert_uint_eq(image_times(m, "\"cat\":\"ac2g\""), 6);
	m->config.dialect = DIALECT_TB043;
	image_write(m);
	ck_assert_int_eq(cuda_number(m, "launch_free", 0, "External id"), 0);
	ck_assert_int_eq(cuda_number(m, "k_free", 0, "External id"), 0);
	image_free(m);
}
END_TEST

START_TEST(a_step_owns_what_no_operator_does)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	image_step(m, 4, 2000, 50000);
	cuda_call(m, "launch", 1, 5000, 6000);
	cuda_kernel(m, "k", 1, 7, 12000, 13000, 0);
	image_write(m);
	ck_assert_int_eq(cuda_number(m, "k", 0, "External id"), 1);
	ck_assert(!image_has(m, "gpu_user_annotation"));
	image_free(m);
}
END_TEST

START_TEST(what_failed_is_not_missed)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	cuda_call(m, "launch", 1, 2000, 2500)->result = 700;
	cuda_call(m, "malloc", 2, 3000, 3500)->r.flags = 0;
	cuda_call(m, "launch", 3, 4000, 4500);
	m->info->cuda[CUDA_MISSING] = 1;
	image_write(m);
	ck_assert_uint_eq(m->result.cuda[CUDA_MISSING], 1);
	image_free(m);
}
END_TEST

START_TEST(ids_go_round)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	cuda_call(m, "launch", UINT32_MAX, 2000, 2500);
	cuda_call(m, "launch", 1, 3000, 3500);
	cuda_kernel(m, "last", UINT32_MAX, 7, 5000, 6000, 0);
	cuda_kernel(m, "first", 1, 7, 7000, 8000, 0);
	image_write(m);
	ck_assert_str_eq(cuda_arg(m, "last", 0, "correlation"), "4294967295");
	ck_assert_int_eq(cuda_number(m, "first", 0, "correlation"), 1);
	ck_assert(image_has(m, "\"matched\": 2"));
	ck_assert_uint_eq(image_times(m, "\"cat\":\"ac2g\""), 4);
	image_free(m);
}
END_TEST

START_TEST(two_devices_have_rows_of_their_own)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	struct rec_kernel *k;

	cuda_call(m, "launch", 1, 2000, 2500);
	cuda_call(m, "launch", 2, 3000, 3500);
	cuda_device(m, 0, "one");
	cuda_device(m, 1, "other");
	k = cuda_kernel(m, "b", 2, 7, 4000, 6000, 0);
	k->g.device = 1;
	cuda_kernel(m, "a", 1, 7, 5000, 6000, 0);
	image_write(m);
	ck_assert_uint_eq(image_find(m, "b", 0).tid, 7);
	ck_assert_int_eq(cuda_number(m, "b", 0, "pid"), 1);
	ck_assert_int_eq(cuda_number(m, "b", 0, "device"), 1);
	ck_assert_int_eq(cuda_number(m, "a", 0, "pid"), 0);
	ck_assert_uint_eq(image_find(m, "a", 0).tid, 7);
	ck_assert(image_has(m, "{\"id\": 1, \"name\": \"other\""));
	ck_assert(image_has(m, "\"labels\":\"GPU 1\""));
	image_free(m);
}
END_TEST

START_TEST(tensor_memory_makes_a_device_too)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	struct rec_memory *mem = image_record(m, REC_MEMORY, sizeof(*mem), 0, 5000, 0);

	mem->device_type = 1;
	mem->device_index = 2;
	cuda_device(m, 0, "one");
	image_write(m);
	ck_assert(image_has(m, "{\"id\": 2, \"name\": \"unknown\"}]"));
	image_free(m);
}
END_TEST

START_TEST(overlaps_go_to_a_row_of_their_own)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	for (unsigned i = 0; i < 40; i++) {
		cuda_call(m, "launch", i + 1, 1000 + i * 10, 1005 + i * 10);
		cuda_kernel(m,
			    i < 3   ? "three"
			    : i < 5 ? "next"
				    : "many",
			    i + 1, 7,
			    i < 3    ? 5000 + i * 10
			    : i == 3 ? 6000
			    : i == 4 ? 7000
				     : 8000 + i,
			    i < 3    ? 6000
			    : i == 3 ? 7000
			    : i == 4 ? 7500
				     : 9000,
			    0);
	}
	image_write(m);
	ck_assert_uint_eq(image_find(m, "three", 0).tid, 7);
	ck_assert_uint_eq(image_find(m, "three", 1).tid, 10000007);
	ck_assert_uint_eq(image_find(m, "three", 2).tid, 20000007);
	ck_assert_int_eq(cuda_number(m, "three", 2, "stream"), 7);
	ck_assert(image_has(m, "stream 7 (overlap 2)"));
	/* One after the other without a gap: a nanosecond between them. */
	ck_assert_uint_eq(image_find(m, "next", 0).tid, 7);
	ck_assert_uint_eq(image_find(m, "next", 0).begin, 6001);
	ck_assert_uint_eq(image_find(m, "next", 0).end, 7000);
	ck_assert_uint_eq(image_find(m, "next", 1).begin, 7001);
	/* More than there are rows for: none is lost. */
	ck_assert_uint_eq(image_times(m, "\"name\":\"many\""), 35);
	image_free(m);
}
END_TEST

START_TEST(rows_of_odd_streams_never_clash)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	struct rec_sync *s;

	cuda_kernel(m, "high", 1, 10000007, 5000, 6000, 0);
	cuda_kernel(m, "low", 2, 7, 5000, 6000, 0);
	cuda_kernel(m, "low", 3, 7, 5500, 6000, 0);
	cuda_kernel(m, "none", 4, 0, 8000, 9000, 0);
	cuda_kernel(m, "one", 5, 1, 8000, 9000, 0);
	for (unsigned i = 0; i < 2; i++) {
		s = cuda_record(m, REC_SYNC, sizeof(*s), NULL, 3100, 9900);
		s->context = 1;
		s->stream = 7;
		s->type = 3 + i;
	}
	image_write(m);
	ck_assert_uint_eq(image_find(m, "high", 0).tid, 10000007);
	ck_assert_uint_eq(image_find(m, "low", 1).tid, 1000000007);
	ck_assert_uint_eq(image_find(m, "Stream Sync", 0).tid, 100000007);
	ck_assert_uint_eq(image_find(m, "Context Sync", 0).tid, 200000000);
	/* No stream is 0: readers take that for none. */
	ck_assert_uint_eq(image_find(m, "none", 0).tid, 7);
	ck_assert_int_eq(cuda_number(m, "none", 0, "stream"), 7);
	ck_assert_uint_eq(m->result.cuda[CUDA_UNMATCHED], 5);
	image_free(m);
}
END_TEST

START_TEST(a_driver_call_under_a_runtime_call_is_one)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	cuda_call(m, "cuLaunchKernel", 1, 2100, 2200)->r.flags |= CALL_DRIVER;
	cuda_call(m, "cudaLaunchKernel", 1, 2000, 2500);
	cuda_kernel(m, "k", 1, 7, 5000, 6000, 0);
	image_write(m);
	ck_assert(!image_has(m, "cuLaunchKernel"));
	ck_assert_uint_eq(image_times(m, "\"cat\":\"ac2g\""), 2);
	m->config.cuda_driver_calls = 1;
	image_write(m);
	ck_assert_ptr_null(cuda_arg(m, "cuLaunchKernel", 0, "correlation"));
	ck_assert_int_eq(cuda_number(m, "cudaLaunchKernel", 0, "correlation"), 1);
	ck_assert_uint_eq(m->result.cuda[CUDA_MISSING], 0);
	image_free(m);
}
END_TEST

START_TEST(a_program_without_operators_has_rows_too)
{
	struct spool_image *m = image_new(1000, 0);

	cuda_chunk = NULL;
	/* Killed in its window: it lasted as long as its calls. */
	m->info->state = CYCLE_OPEN;
	cuda_call(m, "launch", 1, 3000, 4000)->tid = 55;
	cuda_call(m, "launch", 2, 2000, 2500)->tid = 44;
	cuda_kernel(m, "k", 1, 7, 9000, 9500, 0);
	image_write(m);
	ck_assert_uint_eq(image_find(m, "launch", 0).tid, 44);
	ck_assert_uint_eq(image_find(m, "launch", 0).end, 2500);
	ck_assert_uint_eq(image_find(m, "launch", 1).tid, 55);
	ck_assert_uint_eq(image_find(m, "launch", 1).end, 4000);
	ck_assert(image_has(m, "thread 55 ()"));
	ck_assert_uint_eq(image_find(m, "k", 0).end, 9500);
	image_free(m);
}
END_TEST

START_TEST(without_a_gpu_nothing_is_said_of_one)
{
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 4242, 1, "python3");
	image_op(m, "a", 2000, 3000);
	image_write(m);
	ck_assert(!image_has(m, "cuda"));
	ck_assert(image_has(m, "\"deviceProperties\": [],"));
	/* What was lost is said even when nothing came. */
	m->info->cuda[CUDA_GAPS] = 1;
	m->info->cuda[CUDA_GAP_NS] = 5000;
	image_write(m);
	ck_assert(image_has(m, "\"gaps\": 1, \"gap ns\": 5000}"));
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("cuda");

	tcase_add_test(tc, work_belongs_to_the_innermost_operator);
	tcase_add_test(tc, a_step_owns_what_no_operator_does);
	tcase_add_test(tc, what_failed_is_not_missed);
	tcase_add_test(tc, ids_go_round);
	tcase_add_test(tc, two_devices_have_rows_of_their_own);
	tcase_add_test(tc, tensor_memory_makes_a_device_too);
	tcase_add_test(tc, overlaps_go_to_a_row_of_their_own);
	tcase_add_test(tc, rows_of_odd_streams_never_clash);
	tcase_add_test(tc, a_driver_call_under_a_runtime_call_is_one);
	tcase_add_test(tc, a_program_without_operators_has_rows_too);
	tcase_add_test(tc, without_a_gpu_nothing_is_said_of_one);
	return unit_run(tc, "writer cuda");
}
