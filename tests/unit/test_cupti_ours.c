/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cupti_bench.h"

#include <sys/syscall.h>

/* What it takes to have CUPTI: locks, clocks, functions, layouts, names, buffers. */

static int64_t hurry; /* ns that CLOCK_MONOTONIC goes on with each look */

int clock_gettime(clockid_t id, struct timespec *t)
{
	static _Atomic int64_t gone;
	int result = (int)syscall(SYS_clock_gettime, id, t);

	if (id == CLOCK_MONOTONIC && hurry)
		t->tv_sec += atomic_fetch_add(&gone, hurry) / 1000000000;
	return result;
}

/* ---- lock.c, bell.c ---- */

START_TEST(a_lock_has_one_owner)
{
	_Atomic uint32_t lock = 0;

	ck_assert(lock_take(&lock));
	hurry = 100000000;
	ck_assert(!lock_take(&lock)); /* two seconds later */
	lock_give(&lock, false);
	ck_assert_uint_eq(lock, 1);
	lock_give(&lock, true);
	ck_assert_uint_eq(lock, 0);
	ck_assert(lock_take(&lock));
}
END_TEST

START_TEST(a_child_has_no_window_near)
{
	bell_near(true);
	ck_assert(bell_wants(false));
	bell_fork_child();
	ck_assert(!bell_wants(false));
	ck_assert(bell_wants(true));
	bell_off(true);
	ck_assert(!bell_wants(true));
}
END_TEST

/* ---- moments.c ---- */

static uint64_t jumped; /* ns that CUPTI's clock was set by */
static unsigned slow_reading, reading;

static int timestamp(uint64_t *ns)
{
	int64_t from = sys_clock_ns(CLOCK_REALTIME);

	while (++reading == slow_reading && sys_clock_ns(CLOCK_REALTIME) < from + 5000000)
		reading--;
	*ns = (uint64_t)from + jumped;
	return 0;
}

static void tells_time(void)
{
	bench_spool();
	atomic_store(&session.state, SESSION_READY);
	cupti.GetTimestamp = timestamp;
}

#define HOUR 3600000000000ull

START_TEST(a_clock_that_was_set_bends_nothing)
{
	uint64_t before, after, ns;

	tells_time();
	jumped = _i ? HOUR : 0; /* forward, or back */
	moments_take();
	before = clock_ticks();
	while (clock_ticks() < before + 1000000)
		;
	jumped = HOUR - jumped;
	moments_take();
	ns = moments_ns(before + 500000);
	after = (uint64_t)sys_clock_ns(CLOCK_REALTIME) + jumped;
	ck_assert_uint_lt(after - ns, 1000000000);
}
END_TEST

/* Only so many are kept; what is older than all of them is told by the oldest. */
START_TEST(the_oldest_moment_tells_what_was_before)
{
	uint64_t before, real;

	tells_time();
	before = clock_ticks();
	real = (uint64_t)sys_clock_ns(CLOCK_REALTIME);
	for (unsigned i = 0; i < 80; i++) {
		jumped = i < 70 ? 0 : HOUR;
		moments_take();
	}
	ck_assert_int_lt(llabs((int64_t)(moments_ns(before) - real)), 1000000000);
}
END_TEST

START_TEST(the_best_reading_counts)
{
	struct cycle_info *info;
	const struct rec_moment *m;

	bench_start("13.0");
	info = bench_open();
	for (int ms = 0; ms < 2000 && !bench_record(info, REC_MOMENT, 0); ms++)
		usleep(1000);
	ck_assert(consumer_finish(2000000000, false));
	cupti.GetTimestamp = timestamp;
	reading = 0;
	slow_reading = 2;
	windows_moment();
	m = bench_record(info, REC_MOMENT, bench_records(info, REC_MOMENT) - 1);
	ck_assert_uint_lt(m->error, (uint64_t)(clock_rate(spool.head) / 1000));
}
END_TEST

/* ---- api.c, layout.c, calls.c ---- */

START_TEST(what_lacks_a_function_is_not_taken)
{
	bench_start("13.0");
	ck_assert_ptr_nonnull(api_resolve(bench.cudart));
	ck_assert_ptr_nonnull(cupti.GetVersion);
	ck_assert_ptr_eq((void *)cupti.GetVersion,
			 bench_symbol(bench.cupti, "cuptiGetVersion"));
	ck_assert(!api_asking());
}
END_TEST

static int odd_steps(uint8_t *buffer, size_t size, void **record)
{
	uint32_t kind = (uint32_t)layout_read(buffer, 4);

	(void)size;
	*record =
		!*record ? buffer : (uint8_t *)*record + (kind == KIND_RUNTIME ? 40 : 16);
	return 0;
}

START_TEST(an_answer_that_cannot_be_is_not_believed)
{
	cupti.ActivityGetNextRecord = odd_steps;
	ck_assert(!layout_start(24, 12));
	ck_assert_uint_eq(layout_stride[KIND_DRIVER], 40);
	ck_assert_uint_eq(layout_stride[KIND_CONCURRENT_KERNEL], 208);
}
END_TEST

START_TEST(a_release_is_no_newer_than_its_major)
{
	static const struct {
		uint32_t version;
		int major;
		uint16_t kernel, event, rotation; /* bytes, by which it is known */
	} rows[] = { { 17, 11, 176, 24, 0 },      { 18, 11, 200, 24, 0 },
		     { 18, 12, 208, 24, 0 },      { 20, 11, 200, 24, 0 },
		     { 27, 12, 208, 56, 32 },     { 130400, 13, 248, 56, 32 },
		     { 130400, 12, 208, 56, 32 }, { 999999, 0, 248, 80, 32 } };

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		layout_start(rows[i].version, rows[i].major);
		ck_assert_uint_eq(layout_stride[KIND_CONCURRENT_KERNEL], rows[i].kernel);
		ck_assert_uint_eq(layout_stride[KIND_CUDA_EVENT], rows[i].event);
		ck_assert_uint_eq(layout_stride[KIND_CONFIDENTIAL_COMPUTE_ROTATION],
				  rows[i].rotation);
	}
}
END_TEST

static const struct {
	uint32_t cbid;
	const char *name;
	unsigned length;
} named[] = {
	{ 1, "cuMemcpyHtoD_v2", 15 },   { 80, "cudaLaunchKernel_v7000", 16 },
	{ 81, "cudaMalloc_v3020", 10 }, { 120, "cuMemcpyDtoH_v2_ptds", 20 },
	{ 230, "behind a gap", 0 },
};

static int callback_name(int domain, uint32_t cbid, const char **name)
{
	(void)domain;
	for (unsigned i = 0; i < sizeof(named) / sizeof(*named); i++)
		if (named[i].cbid == cbid) {
			*name = named[i].name;
			return 0;
		}
	return CUPTI_INVALID_PARAMETER;
}

START_TEST(calls_are_known_by_name_and_number)
{
	cupti.GetCallbackName = callback_name;
	ck_assert_ptr_null(calls_start(false));
	for (unsigned i = 0; i < sizeof(named) / sizeof(*named); i++) {
		const struct call *c = calls_get(DOMAIN_RUNTIME, named[i].cbid);

		ck_assert_int_eq(c != NULL, named[i].length != 0);
		if (c)
			ck_assert_uint_eq(c->length, named[i].length);
	}
	ck_assert_ptr_null(calls_get(DOMAIN_RUNTIME, 0x40000000));
	ck_assert_ptr_null(calls_get(3, 1));
}
END_TEST

/* ---- buffers.c ---- */

START_TEST(no_more_is_read_than_a_buffer_has)
{
	struct buffer *b;
	uint8_t *mem[2];
	size_t size, most;

	ck_assert(buffers_start(64, true, true, NULL));
	for (unsigned i = 0; i < 2; i++)
		buffers_requested(&mem[i], &size, &most);
	ck_assert(buffers_ours(mem[0]));
	ck_assert(!buffers_ours(mem[0] + 64)); /* nor is what lies in it */
	buffers_completed(NULL, 0, mem[0] + 64, size, size);
	ck_assert_ptr_null(buffers_take());
	buffers_completed(NULL, 0, mem[0], size, size + 1000);
	buffers_completed(NULL, 0, mem[1], size, 80);
	b = buffers_take(); /* the first one first */
	ck_assert_ptr_eq(b->mem, mem[0]);
	ck_assert_uint_eq(b->valid, size);
	ck_assert_ptr_eq(b->next->mem, mem[1]);
	ck_assert_uint_eq(b->next->valid, 80);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("ours");

	tcase_add_test(tc, a_lock_has_one_owner);
	tcase_add_test(tc, a_child_has_no_window_near);
	tcase_add_loop_test(tc, a_clock_that_was_set_bends_nothing, 0, 2);
	tcase_add_test(tc, the_oldest_moment_tells_what_was_before);
	tcase_add_test(tc, the_best_reading_counts);
	tcase_add_test(tc, what_lacks_a_function_is_not_taken);
	tcase_add_test(tc, an_answer_that_cannot_be_is_not_believed);
	tcase_add_test(tc, a_release_is_no_newer_than_its_major);
	tcase_add_test(tc, calls_are_known_by_name_and_number);
	tcase_add_test(tc, no_more_is_read_than_a_buffer_has);
	return unit_run(tc, "cupti, ours");
}
