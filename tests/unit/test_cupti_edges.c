/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cupti/flow/decode_work.h"
#include "tests/unit/cupti_records.h"

/* Edges of single records, with the test as the consumer. */

static struct window *window(void)
{
	return windows_get(1);
}

/* ---- flow/correlation.c ---- */

static struct made made_at(uint64_t begin)
{
	struct made m;

	decode_start(&m, REC_KERNEL, sizeof(struct rec_kernel));
	memset(&m.u.kernel.g.correlation, 0,
	       sizeof(m.u.kernel) - offsetof(struct rec_kernel, g.correlation));
	m.u.r.begin = begin;
	m.u.r.end = begin + 1;
	return m;
}

START_TEST(a_launch_counts_once)
{
	struct made m;

	records_start("13.0");
	place_latest = UINT64_MAX;
	m = made_at(begin_ns() + 10);
	correlation_call(7, window(), true);
	correlation_call(7, window(), true); /* the driver's call inside it */
	correlation_call(8, window(), true);
	correlation_call(9, window(), false); /* it failed, or launches nothing */
	ck_assert_uint_eq(window()->launched, 2);
	correlation_work(7, &m);
	correlation_work(7, &m);
	ck_assert_uint_eq(window()->matched, 1);
}
END_TEST

/* The same place of the table, on both sides of the end of the numbers. */
START_TEST(ids_of_a_long_run_wrap)
{
	records_start("13.0");
	correlation_call(0xfff80005, window(), true);
	correlation_call(5, window(), true);
	ck_assert_uint_eq(window()->launched, 2);
	correlation_call(0xfff80005, window(), true); /* far older: not in its place */
	ck_assert_uint_eq(window()->launched, 2);
}
END_TEST

START_TEST(a_call_that_failed_has_no_work)
{
	uint8_t *p;

	records_start("13.0");
	p = add_call(7);
	store(p + LAYOUT_AT_RUNTIME_returnValue, 2, 4);
	add_call(8);
	run();
	ck_assert_uint_eq(window()->launched, 1);
	ck_assert_uint_eq(bench_records(info, REC_CALL), 2);
}
END_TEST

/* ---- decode.c ---- */

START_TEST(each_fault_has_its_count)
{
	uint8_t *p;

	records_start("13.0");
	add_call(7);
	p = add_work(CONCURRENT_KERNEL, 1, 7);
	store(p + LAYOUT_AT_CONCURRENT_KERNEL_end, 0, 8);
	run();
	ck_assert_uint_eq(bench_count(info, CUDA_ZERO), 1);
	ck_assert_uint_eq(bench_count(info, CUDA_REVERSED), 0);
}
END_TEST

static unsigned kernels_of_graphs(int graphs)
{
	bench.config.cuda_graphs = (uint8_t)graphs;
	add_call(7);
	add_work(CONCURRENT_KERNEL, 1, 7);
	run();
	return bench_records(info, REC_KERNEL);
}

START_TEST(nodes_of_graphs_are_there_when_wanted)
{
	records_start("13.0");
	ck_assert_uint_eq(kernels_of_graphs(GRAPHS_OFF), 0);
	ck_assert_uint_eq(kernels_of_graphs(GRAPHS_NODE), 1);
}
END_TEST

START_TEST(latencies_of_another_launch_are_left_out)
{
	static const struct {
		int queued, submitted;
		bool good;
	} rows[] = { { 10, 20, true }, { 20, 10, false }, { 10, 40, false } };
	uint8_t *p;

	records_start("13.0");
	for (unsigned i = 0; i < 3; i++) {
		const struct rec_kernel *k;

		add_call(7 + i);
		p = add_work(CONCURRENT_KERNEL, 1, 7 + i);
		store(p + LAYOUT_AT_CONCURRENT_KERNEL_queued,
		      begin_ns() + (unsigned)rows[i].queued, 8);
		store(p + LAYOUT_AT_CONCURRENT_KERNEL_submitted,
		      begin_ns() + (unsigned)rows[i].submitted, 8);
		run();
		k = bench_record(info, REC_KERNEL, i);
		ck_assert_int_eq(!!(k->g.r.flags & GPU_LATENCY), rows[i].good);
	}
}
END_TEST

START_TEST(only_a_local_pool_has_a_size)
{
	const struct rec_block *b;
	uint8_t *p;

	records_start("13.0");
	p = add(KIND_MEMORY2, 1);
	store(p + LAYOUT_AT_MEMORY2_timestamp, begin_ns() + 10, 8);
	store(p + LAYOUT_AT_MEMORY2_memoryPoolConfig, 2, 4);
	run();
	b = one(REC_BLOCK);
	ck_assert_uint_eq(b->pool_size, 0);
	ck_assert_uint_eq(b->pool_used, 0);
}
END_TEST

/* ---- devices.c ---- */

START_TEST(no_device_has_such_a_number)
{
	uint8_t *p;

	records_start("13.0");
	p = add(KIND_DEVICE, 1);
	store(p + LAYOUT_AT_DEVICE_id, 0x40000000, 4);
	run();
	devices_write(&window()->side, window()->begin);
	ck_assert_uint_eq(bench_records(info, REC_GPU), 0);
}
END_TEST

/* The driver is asked for what the record does not know, and for nothing else. */
START_TEST(a_record_knows_better_than_the_driver)
{
	const struct rec_device *r;
	uint8_t *p;

	records_start("13.0");
	p = add(KIND_DEVICE, 1);
	store(p + LAYOUT_AT_DEVICE_id, 0, 4);
	store(p + LAYOUT_AT_DEVICE_numMultiprocessors, 7, 4);
	store(p + LAYOUT_AT_DEVICE_globalMemorySize, 4711, 8);
	store(p + LAYOUT_AT_DEVICE_computeCapabilityMajor, 77, 4);
	store(p + LAYOUT_AT_DEVICE_computeCapabilityMinor, 3, 4);
	store(p + LAYOUT_AT_DEVICE_name, (uintptr_t) "as CUPTI calls it", 8);
	run();
	devices_write(&window()->side, window()->begin);
	r = one(REC_GPU);
	ck_assert_uint_eq(r->sms, 7);
	ck_assert_uint_eq(r->memory, 4711);
	ck_assert_uint_eq(r->major * 1000u + r->minor, 77003);
	ck_assert_str_eq(bench_name(r->r.name), "as CUPTI calls it");
	ck_assert_uint_gt(r->shared_optin, 0);
}
END_TEST

START_TEST(the_driver_tells_of_a_device_without_a_record)
{
	size_t bytes = 0;
	int (*memory)(size_t * bytes, int device);
	int (*text)(char *text, int size, int device);
	const struct rec_device *r;
	char name[96];

	records_start("13.0");
	*(void **)&memory = bench_symbol(bench.cuda, "cuDeviceTotalMem_v2");
	*(void **)&text = bench_symbol(bench.cuda, "cuDeviceGetName");
	ck_assert_int_eq(memory(&bytes, 0), 0);
	ck_assert_int_eq(text(name, sizeof(name), 0), 0);
	devices_used(0);
	devices_write(&window()->side, window()->begin);
	r = one(REC_GPU);
	ck_assert_uint_gt(bytes, 1 << 30);
	ck_assert_uint_eq(r->memory, bytes);
	ck_assert_str_eq(bench_name(r->r.name), name);
}
END_TEST

START_TEST(a_gpu_beyond_a_words_bits_has_its_own_row)
{
	const struct rec_device *r;

	records_start("13.0");
	devices_used(33);
	devices_write(&window()->side, window()->begin);
	r = one(REC_GPU);
	ck_assert_uint_eq(r->id, 33);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("edges");

	tcase_add_test(tc, a_launch_counts_once);
	tcase_add_test(tc, ids_of_a_long_run_wrap);
	tcase_add_test(tc, a_call_that_failed_has_no_work);
	tcase_add_test(tc, each_fault_has_its_count);
	tcase_add_test(tc, nodes_of_graphs_are_there_when_wanted);
	tcase_add_test(tc, latencies_of_another_launch_are_left_out);
	tcase_add_test(tc, only_a_local_pool_has_a_size);
	tcase_add_test(tc, no_device_has_such_a_number);
	tcase_add_test(tc, a_record_knows_better_than_the_driver);
	tcase_add_test(tc, the_driver_tells_of_a_device_without_a_record);
	tcase_add_test(tc, a_gpu_beyond_a_words_bits_has_its_own_row);
	return unit_run(tc, "cupti, edges");
}
