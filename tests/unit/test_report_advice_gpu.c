/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about a GPU: a trace on each side of each threshold, and one without evidence. */
#include "tests/unit/advice_trace.h"

#define GEMM "ampere_sgemm_128x64_nn"
#define MM16 "ampere_fp16_s16816gemm_fp16_128x64"

/* ---- input, copies, memory from the driver, collectives ---- */

static void with_loading(double us)
{
	begin_gpu(1000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		kernel("k", at(i, 10), 300, 3);
		note("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
		     at(i, 310), us);
	}
}

static void with_copy(double bytes)
{
	char more[64];

	begin_gpu(1000, 80);
	steps_of(STEPS);
	snprintf(more, sizeof(more), ",\"bytes\":%.0f", bytes);
	for (unsigned i = 0; i < STEPS; i++) {
		work_of("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)",
			"cudaMemcpyAsync", at(i, 10), 100, 3, more);
		kernel("k", at(i, 110), 800, 3);
	}
}

static void with_copy_time(double us)
{
	begin_gpu(1000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		work_of("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)",
			"cudaMemcpyAsync", at(i, 10), us, 3, ",\"bytes\":2000000");
		kernel("k", at(i, 110), 800, 3);
	}
}

/* From step number `first` on. */
static void with_malloc(double first)
{
	begin_gpu(1000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		kernel("k", at(i, 10), 500, 3);
		if (i >= first || !i)
			call("cudaMalloc", at(i, 600), 200);
	}
}

static void with_collective(double us)
{
	begin_gpu(1000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		kernel("k", at(i, 10), 500, 3);
		kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", at(i, 410), 100 + us,
		       3);
	}
}

static void with_idle(double dur)
{
	begin_gpu(10000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		kernel("k", at(i, 10), dur, 3);
}

/* ---- precision ---- */

static void fill_products(const char *name, double us)
{
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		kernel(name, at(i, 50), us, 3);
		work_of("kernel", "void vectorized_elementwise_kernel",
			"cudaLaunchKernel", at(i, 50 + us), 500 - us, 40 + us, "");
		kernel("void vectorized_elementwise_kernel", at(i, 550), 300, 520);
	}
}

static void with_products(double us)
{
	begin_gpu(1000, 80);
	fill_products(GEMM, us);
}

static void with_capability(double cc)
{
	begin_gpu(1000, (int)cc);
	fill_products(GEMM, 400);
}

/* ---- several ---- */

static void with_ddp(double cc)
{
	begin_gpu(1000, (int)cc);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		note("DistributedDataParallel.forward", at(i, 5), 100);
		kernel("k", at(i, 10), 900, 3);
	}
}

static void with_device(double device)
{
	begin_gpu(1000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		note("DataParallel.forward", at(i, 5), 100);
		kernel("k", at(i, 10), 900, 3);
		fprintf(file,
			"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":%.0f,\"tid\":8,"
			"\"ts\":%f,\"dur\":900,\"args\":{\"device\":%.0f,\"stream\":8}},",
			device, at(i, 10), device);
	}
}

/* ---- memory ---- */

static void gpu_memory(double allocated, double reserved, const char *name)
{
	begin_gpu(1000, 80);
	steps_of(STEPS);
	kernel("k", at(1, 10), 900, 3);
	fprintf(file,
		"{\"ph\":\"i\",\"name\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":%f,\"args\":{"
		"\"Addr\":1,\"Bytes\":5,\"Total Allocated\":%.0f,\"Total Reserved\":%.0f,"
		"\"Device Type\":1,\"Device Id\":0}},",
		name, at(1, 100), allocated, reserved);
}

static void with_peak(double bytes)
{
	gpu_memory(bytes, bytes, "[memory]");
}

static void with_unused(double bytes)
{
	gpu_memory(5e8, 5e8 + bytes, "[memory]");
}

static void with_unused_at_oom(double bytes)
{
	gpu_memory(5e8, 5e8 + bytes, "[OutOfMemory]");
}

static const struct turn turns[] = {
	{ "gpu-idle", with_idle, 5000, 4999 },
	{ "dataloader", with_loading, 50, 51 },
	{ "pageable-copy", with_copy, (1 << 20) - 1, 1 << 20 },
	{ "pageable-copy", with_copy_time, 9.9, 10 },
	{ "malloc-churn", with_malloc, 4, 3 },
	{ "communication", with_collective, 100, 101 },
	{ "fp32-matmul", with_products, 159, 161 },
	{ "fp32-matmul", with_capability, 75, 80 },
	{ "amp", with_capability, 61, 70 },
	{ "nccl", with_ddp, 34, 35 },
	{ "data-parallel", with_device, 0, 1 },
	{ "memory", with_peak, 9e8, 9.01e8 },
	{ "fragmentation", with_unused, 2e8, 2.01e8 },
	{ "fragmentation", with_unused_at_oom, 2e8, 2.01e8 },
};

START_TEST(rule_turns_at_its_threshold)
{
	check_turn(&turns[_i]);
}
END_TEST

/* ---- gains, and what is no gain ---- */

START_TEST(what_the_gpu_hides_is_no_gain)
{
	/* Its end is the loader's, but the GPU was busy for all of it. */
	begin_gpu(1000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		kernel("elementwise", at(i, 10), 900, 3);
		note("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
		     at(i, 400), 500);
		work_of("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)",
			"cudaMemcpyAsync", at(i, 100), 300, 3, ",\"bytes\":9000000");
		call("cudaMalloc", at(i, 200), 300);
	}
	advise();
	ck_assert_msg(!advices.n, "%s: %s", advices.row[0].rule, advices.row[0].seen);
	advised_end();
}
END_TEST

START_TEST(gain_of_the_loader_is_its_time)
{
	with_loading(400);
	advise();
	ck_assert_int_eq(told("dataloader")->gain, 400000);
	ck_assert(told("dataloader")->exact);
	ck_assert_str_eq(
		told("dataloader")->seen,
		"400 us a step, in each of 4 steps (40 %); the GPU is idle meanwhile");
	advised_end();
}
END_TEST

START_TEST(gain_of_products_is_half_of_what_is_waited_for)
{
	with_products(400);
	advise();
	ck_assert_int_eq(told("fp32-matmul")->gain, 200000);
	ck_assert(!told("fp32-matmul")->exact);
	ck_assert_str_eq(told("fp32-matmul")->where, "aten::mm");
	advised_end();
	/* The next launch comes long behind the product's end. */
	begin_gpu(1000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < 2; k++)
			kernel(GEMM, at(i, 50 + 500 * k), 300, 3);
	advise();
	ck_assert(!told("fp32-matmul"));
	advised_end();
}
END_TEST

START_TEST(tensor_cores_that_are_used_are_no_advice)
{
	static const char *const names[] = { MM16, "ampere_dgemm_128x64",
					     "gemv2T_kernel_val<__half>" };

	for (unsigned i = 0; i < 3; i++) {
		begin_gpu(1000, 80);
		fill_products(names[i], 400);
		advise();
		ck_assert(!told("fp32-matmul") && !told("amp"));
		advised_end();
	}
}
END_TEST

START_TEST(copy_that_a_collective_hides_is_no_advice)
{
	begin_gpu(1000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		kernel("ncclDevKernel_AllGather", at(i, 10), 90, 3);
		work_of("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)",
			"cudaMemcpyAsync", at(i, 20), 70, 3, ",\"bytes\":9000000");
		kernel("elementwise", at(i, 100), 900, 80);
	}
	advise();
	ck_assert(!advices.n);
	advised_end();
}
END_TEST

START_TEST(one_kernel_on_tensor_cores_is_enough)
{
	for (unsigned cc = 70; cc <= 80; cc += 10) {
		begin_gpu(1000, (int)cc);
		fill_products(GEMM, 400);
		kernel(MM16, at(4, 900), 20, 3);
		advise();
		ck_assert(!told("fp32-matmul") && !told("amp"));
		advised_end();
	}
}
END_TEST

START_TEST(memory_of_the_host_is_none_of_the_gpu)
{
	with_peak(5e8);
	memory_of(1, 0, -1, at(1, 200), 9, 5, 990000000);
	advise();
	ck_assert(!told("memory"));
	advised_end();
}
END_TEST

/* ---- without evidence ---- */

START_TEST(without_kernels_rules_say_what_to_record)
{
	begin_gpu(1000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		call("cudaLaunchKernel", at(i, 10), 5);
	advise();
	ck_assert(!advices.n);
	ck_assert(is_silent("launch-bound") && is_silent("gpu-idle") &&
		  is_silent("amp") && is_silent("memory") && is_silent("pageable-copy"));
	ck_assert(is_silent("dataloader") == false);
	advised_end();
}
END_TEST

START_TEST(without_calls_rules_about_launches_are_silent)
{
	begin_gpu(1000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		fprintf(file,
			"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,"
			"\"ts\":%f,\"dur\":100,\"args\":{\"device\":0,\"stream\":7}},",
			GEMM, at(i, 10));
	advise();
	ck_assert(is_silent("launch-bound") && is_silent("host-bound"));
	ck_assert(is_silent("amp") && is_silent("fp32-matmul") && is_silent("memory"));
	ck_assert(!told("launch-bound") && !told("host-bound") && told("gpu-idle"));
	advised_end();
}
END_TEST

START_TEST(without_a_gpu_its_rules_do_not_apply)
{
	begin_gpu(1000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		op("aten::mm", at(i, 10), 900);
	advise();
	ck_assert(!advices.n && advices.silent_n == 3 && is_silent("malloc-churn"));
	ck_assert(is_silent("gc-pause") && is_silent("cpu-threads"));
	advised_end();
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("advice");

	tcase_add_loop_test(t, rule_turns_at_its_threshold, 0,
			    (int)(sizeof(turns) / sizeof(*turns)));
	tcase_add_test(t, what_the_gpu_hides_is_no_gain);
	tcase_add_test(t, gain_of_the_loader_is_its_time);
	tcase_add_test(t, gain_of_products_is_half_of_what_is_waited_for);
	tcase_add_test(t, tensor_cores_that_are_used_are_no_advice);
	tcase_add_test(t, copy_that_a_collective_hides_is_no_advice);
	tcase_add_test(t, one_kernel_on_tensor_cores_is_enough);
	tcase_add_test(t, memory_of_the_host_is_none_of_the_gpu);
	tcase_add_test(t, without_kernels_rules_say_what_to_record);
	tcase_add_test(t, without_calls_rules_about_launches_are_silent);
	tcase_add_test(t, without_a_gpu_its_rules_do_not_apply);
	return unit_run(t, "report_advice_gpu");
}
