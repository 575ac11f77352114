/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cupti_records.h"

/* Times, orders and buffers that are not as they should be. */
static void add_kernel(uint32_t correlation, uint64_t begin, uint64_t end)
{
	uint8_t *p = add_work(CONCURRENT_KERNEL, 1, correlation);

	store(p + LAYOUT_AT_CONCURRENT_KERNEL_start, begin, 8);
	store(p + LAYOUT_AT_CONCURRENT_KERNEL_end, end, 8);
}

START_TEST(odd_times_are_counted)
{
	uint64_t now;

	records_start("13.1");
	now = begin_ns();
	for (uint32_t i = 1; i <= 6; i++)
		add_call(i);
	add_kernel(1, 0, now + 40);
	add_kernel(2, now + 30, 0);
	add_kernel(3, now + 40, now + 30);
	add_kernel(4, now - 6000000000, now + 30);
	add_kernel(5, now + 30, now + 60000000000);
	add_kernel(6, now + 30, now + 40);
	run();
	ck_assert_uint_eq(bench_count(info, CUDA_ZERO), 2);
	ck_assert_uint_eq(bench_count(info, CUDA_REVERSED), 1);
	ck_assert_uint_eq(bench_count(info, CUDA_OUTSIDE), 2);
	ck_assert_uint_eq(one(REC_KERNEL) != NULL, 1);
	ck_assert_uint_eq(windows_get(1)->launched, 6);
	ck_assert_uint_eq(windows_get(1)->matched, 6);
}
END_TEST

START_TEST(work_may_come_before_its_call)
{
	records_start("12.4");
	add_kernel(5, begin_ns() + 30, begin_ns() + 40);
	add_kernel(5, begin_ns() + 50, begin_ns() + 60); /* a graph: two for one call */
	run();
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 0);
	add_call(5);
	run();
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 2);
	ck_assert_uint_eq(windows_get(1)->launched, 1);
	ck_assert_uint_eq(windows_get(1)->matched, 1);
	ck_assert_uint_eq(bench_count(info, CUDA_UNMATCHED), 0);
}
END_TEST

static uint8_t *add_named(int domain, const char *name, uint32_t correlation)
{
	uint8_t *p = add_call(correlation);

	for (uint32_t cbid = 1; cbid < CALLS_MOST; cbid++) {
		struct call *c = calls_get(domain, cbid);

		if (c && !strncmp(c->name, name, strlen(name)))
			store(p + LAYOUT_AT_RUNTIME_cbid, cbid, 4);
	}
	store(p, domain == DOMAIN_DRIVER ? KIND_DRIVER : KIND_RUNTIME, 4);
	return p;
}
#define BEGIN(id) add_named(DOMAIN_RUNTIME, "cudaStreamBeginCapture", id)
#define END(id)   add_named(DOMAIN_RUNTIME, "cudaStreamEndCapture", id)

/* Launches and those of them that are not waited for, so far. */
static void is_so_far(unsigned launched, unsigned matched)
{
	run();
	ck_assert_uint_eq(windows_get(1)->launched, launched);
	ck_assert_uint_eq(windows_get(1)->matched, matched);
}

/* It makes a graph: at the end of the process nobody waits for its kernels. */
START_TEST(what_is_captured_has_no_work_to_come)
{
	records_start("13.1");
	add_call(1);
	BEGIN(2);
	add_call(3);
	add_call(4);
	END(5);
	add_call(6);
	is_so_far(4, 2);
	/* Two streams at once are one time; what was launched beside them has its work.
	 */
	BEGIN(7);
	BEGIN(8);
	END(9);
	add_call(10);
	END(11);
	add_kernel(10, begin_ns() + 30, begin_ns() + 40);
	is_so_far(5, 3);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 1);
	/* An end without its begin, and a begin that failed. */
	add_call(12);
	END(13);
	store(BEGIN(14) + LAYOUT_AT_RUNTIME_returnValue, 900, 4);
	add_call(15);
	END(16);
	is_so_far(7, 3);
	/* Of another thread's buffer, that is read later; and an end that is read too
	 * early. */
	END(1);
	add_call(3);
	is_so_far(7, 3);
	add_call(9);
	is_so_far(8, 4);
	/* By the driver alone, and inside the runtime's. */
	add_named(DOMAIN_DRIVER, "cuStreamBeginCapture", 17);
	add_call(18);
	add_named(DOMAIN_DRIVER, "cuStreamEndCapture", 19);
	is_so_far(9, 5);
	add_named(DOMAIN_DRIVER, "cuStreamBeginCapture", 20);
	BEGIN(20);
	add_call(21);
	add_named(DOMAIN_DRIVER, "cuStreamEndCapture", 22);
	END(22);
	is_so_far(10, 6);
}
END_TEST

/* Calls are recorded in windows alone: its end may have been in none. */
START_TEST(a_capture_is_of_one_window)
{
	static struct cycle_info next;

	records_start("13.1");
	BEGIN(2);
	run();
	info->end = next.begin = clock_ticks();
	next.number = 2;
	cupti_sealed(info, true);
	cupti_opened(&next);
	windows_collect();
	for (uint32_t id = 20; id < 22; id++) {
		uint8_t *p = id == 20 ? add_call(id) : END(id);

		store(p + LAYOUT_AT_RUNTIME_start, windows_get(2)->begin + 10, 8);
	}
	run();
	ck_assert_uint_eq(windows_get(2)->launched, 1);
	ck_assert_uint_eq(windows_get(2)->matched, 0);
}
END_TEST

START_TEST(work_without_a_call_goes_where_it_ran)
{
	records_start("12.4");
	add_kernel(5, begin_ns() + 30, begin_ns() + 40);
	run();
	correlation_expire(1000000000);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 0);
	correlation_expire(0);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 1);
	ck_assert_uint_eq(bench_count(info, CUDA_UNMATCHED), 1);
}
END_TEST

/* What happened to an event is no work that a call is missing for. */
START_TEST(an_event_without_a_call_is_not_missed)
{
	uint8_t *p;

	records_start("13.0");
	p = add(KIND_CUDA_EVENT, 1);
	put(p, KIND_CUDA_EVENT, "correlationId", 5);
	put(p, KIND_CUDA_EVENT, "deviceTimestamp", begin_ns() + 30);
	add_kernel(6, begin_ns() + 30, begin_ns() + 40);
	run();
	correlation_expire(0);
	ck_assert_uint_eq(bench_records(info, REC_EVENT), 1);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 1);
	ck_assert_uint_eq(bench_count(info, CUDA_UNMATCHED), 1);
}
END_TEST

/* A window is not over while work that ran in it waits. */
START_TEST(a_window_waits_for_what_ran_in_it)
{
	static const struct {
		int64_t at; /* after its begin; its end comes at 100 */
		bool waits;
	} rows[] = {
		{ -1, false }, { 0, true }, { 50, true }, { 99, true }, { 100, false }
	};
	struct window *w;

	for (unsigned i = 0; i < 5; i++) {
		if (!i)
			records_start("13.0");
		w = windows_get(1);
		w->end = w->begin + 100;
		ck_assert(!correlation_waits(w));
		add_kernel(5 + i, w->begin + (uint64_t)rows[i].at, w->begin + 200);
		run();
		ck_assert_int_eq(correlation_waits(w), rows[i].waits);
		correlation_call(5 + i, NULL, true);
		ck_assert(!correlation_waits(w));
	}
}
END_TEST

START_TEST(a_call_outside_takes_its_work_along)
{
	uint8_t *p;

	records_start("12.8");
	p = add_call(9);
	store(p + LAYOUT_AT_RUNTIME_start, begin_ns() - 1000, 8);
	add_kernel(9, begin_ns() + 30, begin_ns() + 40);
	run();
	correlation_expire(0);
	ck_assert_uint_eq(bench_records(info, REC_CALL), 0);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 0);
	ck_assert_uint_eq(bench_count(info, CUDA_UNMATCHED), 0);
}
END_TEST

/* Each call brings its own work, whatever waits before and behind it. */
START_TEST(calls_in_another_order_than_their_work)
{
	static const uint32_t order[] = { 3, 1, 4, 2, 7, 6, 5, 8 };

	records_start("13.0");
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 1; i <= 8; i++)
			add_work(CONCURRENT_KERNEL, i, round * 8 + i);
		for (uint32_t i = 0; i < 8; i++)
			add_call(round * 8 + order[i]);
		run();
	}
	for (uint32_t i = 0; i < 24; i++) {
		const struct rec_kernel *r = bench_record(info, REC_KERNEL, i);

		ck_assert(r);
		ck_assert_uint_eq(r->g.correlation, i / 8 * 8 + order[i % 8]);
		ck_assert_uint_eq(r->channel,
				  (uint32_t)fake_value(KIND_CONCURRENT_KERNEL,
						       "channelID", order[i % 8]));
	}
	ck_assert_uint_eq(windows_get(1)->matched, 24);
	ck_assert(!correlation_waits(windows_get(1)));
}
END_TEST

START_TEST(more_work_waits_than_there_is_room_for)
{
	const uint32_t most = 40000, room = 32768;

	records_start("13.0");
	for (uint32_t i = 1; i <= most; i++) {
		add_work(CONCURRENT_KERNEL, 1, i);
		if (i % 1000 == 0)
			run();
	}
	ck_assert_uint_eq(bench_count(info, CUDA_UNMATCHED), most - room);
	for (uint32_t i = most; i; i--) { /* the youngest first */
		add_call(i);
		if (i % 1000 == 1)
			run();
	}
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), most);
	ck_assert_uint_eq(windows_get(1)->matched, room);
	ck_assert(!correlation_waits(windows_get(1)));
}
END_TEST

/* A graph: what is given up on is still in it, and leaves the others to their call. */
START_TEST(more_work_of_one_call_waits_than_there_is_room_for)
{
	const uint32_t most = 40000, room = 32768;

	records_start("13.0");
	for (uint32_t i = 1; i <= most; i++) {
		add_work(CONCURRENT_KERNEL, 1, 5);
		if (i % 1000 == 0)
			run();
	}
	add_call(5);
	run();
	ck_assert_uint_eq(bench_count(info, CUDA_UNMATCHED), most - room);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), most);
	ck_assert(!correlation_waits(windows_get(1)));
}
END_TEST

START_TEST(correlation_ids_wrap)
{
	records_start("13.0");
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t id = (uint32_t)(0xfffffff6u + i);

		if (i % 2)
			add_kernel(id, begin_ns() + 30 + i, begin_ns() + 40 + i);
		add_call(id);
		if (i % 2 == 0)
			add_kernel(id, begin_ns() + 30 + i, begin_ns() + 40 + i);
	}
	run();
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 20);
	ck_assert_uint_eq(windows_get(1)->matched, 20);
}
END_TEST

START_TEST(a_driver_call_inside_a_runtime_call)
{
	uint8_t *p;

	records_start("13.0");
	p = add(KIND_DRIVER, 1);
	store(p + LAYOUT_AT_RUNTIME_cbid, 307, 4);
	store(p + LAYOUT_AT_RUNTIME_start, begin_ns() + 12, 8);
	store(p + LAYOUT_AT_RUNTIME_end, begin_ns() + 18, 8);
	store(p + LAYOUT_AT_RUNTIME_correlationId, 77, 4);
	store(p + LAYOUT_AT_RUNTIME_returnValue, 0, 4);
	add_call(77);
	add_kernel(77, begin_ns() + 30, begin_ns() + 40);
	run();
	ck_assert_uint_eq(windows_get(1)->launched, 1);
	ck_assert_uint_eq(windows_get(1)->matched, 1);
	ck_assert_uint_eq(bench_records(info, REC_CALL), 2);
}
END_TEST

START_TEST(a_buffer_that_cannot_be_read_to_its_end)
{
	records_start("13.0");
	add_call(1);
	add_call(2);
	filled -= 8; /* the last one is cut */
	run();
	ck_assert_uint_eq(bench_records(info, REC_CALL), 1);
	ck_assert_uint_eq(bench_count(info, CUDA_UNDECODED), 1);
	add_call(3);
	store(buffer + filled, 63, 4);
	filled += 40;
	add_call(4);
	run();
	ck_assert_uint_eq(bench_records(info, REC_CALL), 2);
	ck_assert_uint_eq(bench_count(info, CUDA_UNDECODED), 2);
	store(buffer, 0xffffffff, 4);
	filled = 64;
	run();
	ck_assert_uint_eq(bench_count(info, CUDA_UNDECODED), 3);
	ck_assert_uint_eq(decode_count(buffer, sizeof(buffer)), 0);
}
END_TEST

START_TEST(a_name_whose_place_is_used_again)
{
	static char name[32] = "first";
	uint8_t *p;

	records_start("13.0");
	for (uint32_t i = 0; i < 3; i++) {
		add_call(i + 1);
		add_kernel(i + 1, begin_ns() + 30, begin_ns() + 40);
		p = buffer + filled - stride_now;
		store(p + LAYOUT_AT_CONCURRENT_KERNEL_name, (uintptr_t)name, 8);
		run();
		strcpy(name, i ? "first and more" : "fir");
	}
	for (unsigned i = 0; i < 3; i++) {
		const struct rec_kernel *r = bench_record(info, REC_KERNEL, i);

		ck_assert_str_eq(bench_name(r->g.r.name), i == 0   ? "first"
							  : i == 1 ? "fir"
								   : "first and more");
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("link");

	tcase_add_test(tc, odd_times_are_counted);
	tcase_add_test(tc, work_may_come_before_its_call);
	tcase_add_test(tc, what_is_captured_has_no_work_to_come);
	tcase_add_test(tc, a_capture_is_of_one_window);
	tcase_add_test(tc, work_without_a_call_goes_where_it_ran);
	tcase_add_test(tc, an_event_without_a_call_is_not_missed);
	tcase_add_test(tc, a_window_waits_for_what_ran_in_it);
	tcase_add_test(tc, a_call_outside_takes_its_work_along);
	tcase_add_test(tc, calls_in_another_order_than_their_work);
	tcase_add_test(tc, more_work_waits_than_there_is_room_for);
	tcase_add_test(tc, more_work_of_one_call_waits_than_there_is_room_for);
	tcase_add_test(tc, correlation_ids_wrap);
	tcase_add_test(tc, a_driver_call_inside_a_runtime_call);
	tcase_add_test(tc, a_buffer_that_cannot_be_read_to_its_end);
	tcase_add_test(tc, a_name_whose_place_is_used_again);
	return unit_run(tc, "what belongs to what");
}
