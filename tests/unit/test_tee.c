/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tee_bench.h"

/* What the program's own profiler gets beside ours, on one (fake) CUPTI. */

START_TEST(both_have_everything)
{
	struct cycle_info *info;
	struct fake_cupti state;

	bench_start(versions[_i]);
	info = bench_open();
	launches(5);
	client_starts();
	launches(10);
	client_stops();
	launches(5);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 5000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 20);
	ck_assert_uint_eq(it.kernels, 10);
	ck_assert_uint_eq(it.calls, 11);
	ck_assert_uint_eq(it.others, 0);
	ck_assert_uint_eq(it.out, 0);
	ck_assert_uint_eq(it.foreign, 0);
	ck_assert_uint_eq(bench_count(info, CUDA_GAPS), 0);
	bench.state(&state);
	ck_assert_uint_eq(state.buffers_out, 0);
}
END_TEST

static void *launch_two(void *arg)
{
	(void)arg;
	launches(2);
	return NULL;
}

/* Several buffers come back when we flush: it sees none before it asks for them. */
START_TEST(we_flush_and_it_does_not)
{
	pthread_t thread;

	bench_start(versions[_i]);
	bench_open();
	client_starts();
	for (int i = 0; i < 10; i++) {
		launches(2);
		ck_assert_int_eq(pthread_create(&thread, NULL, launch_two, NULL), 0);
		pthread_join(thread, NULL);
		bench.synchronize();
		ck_assert_int_eq(session_flush(0), 0);
		ck_assert_uint_eq(it.buffers, 0);
	}
	client_stops();
	ck_assert_uint_eq(it.kernels, 40);
	ck_assert_uint_eq(it.out, 0);
}
END_TEST

/* Its kinds stay on when our window ends, ours when it stops. */
START_TEST(windows_come_and_go)
{
	struct cycle_info *info[5];

	bench_start(versions[_i]);
	client_starts();
	for (int i = 0; i < 5; i++) {
		launches(2);
		info[i] = bench_open();
		launches(3);
		bench_seal(info[i], true);
		ck_assert(bench_settles(info[i], 5000));
		for (int ms = 0; ms < 1000 && kinds_ours_on(); ms++)
			usleep(1000);
	}
	client_stops();
	ck_assert_uint_eq(it.kernels, 25);
	ck_assert_uint_eq(it.calls, 26);
	for (int i = 0; i < 5; i++)
		ck_assert_uint_eq(bench_records(info[i], REC_KERNEL), 3);
	launches(7);
	CALL(ActivityFlushAll)(0);
	ck_assert_uint_eq(it.kernels, 25);
}
END_TEST

/* Work that runs on when it stops was asked for before; what comes later was not. */
START_TEST(work_across_its_edges)
{
	struct cycle_info *info;

	bench_start("13.0");
	bench.fake_set("FAKE_KERNEL_NS", "30000000");
	info = bench_open();
	launches(2); /* begin before it starts, the second one ends after */
	client_starts();
	launches(3);
	CALL(ActivityDisable)(KIND_CONCURRENT_KERNEL);
	CALL(ActivityDisable)(KIND_RUNTIME);
	launches(4);
	bench.synchronize();
	ck_assert_int_eq(CALL(ActivityFlushAll)(0), 0);
	ck_assert_uint_eq(it.kernels, 3);
	ck_assert_uint_eq(it.calls, 3);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 5000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 9);
}
END_TEST

START_TEST(ids_of_threads_are_of_its_kind)
{
	bench_start("13.0");
	bench_open();
	client_starts();
	launches(1);
	client_stops();
	ck_assert_uint_eq(it.thread, (uint32_t)pthread_self());
	ck_assert_int_eq(CALL(SetThreadIdType)(1), 0);
	client_starts();
	launches(1);
	client_stops();
	ck_assert_uint_eq(it.thread, (uint32_t)getpid());
}
END_TEST

static uint64_t ticks(void)
{
	return 3 * (uint64_t)sys_clock_ns(CLOCK_MONOTONIC) + 1000;
}

START_TEST(its_clock_is_not_ours)
{
	struct cycle_info *info;
	const struct rec_kernel *k;
	uint64_t before, after;

	bench_start("12.8");
	ck_assert_int_eq(CALL(ActivityRegisterTimestampCallback)(ticks), 0);
	info = bench_open();
	client_starts();
	before = ticks();
	launches(1);
	bench.synchronize();
	after = ticks();
	client_stops();
	ck_assert_uint_ge(it.first_start, before);
	ck_assert_uint_le(it.first_start, after);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 5000));
	k = bench_record(info, REC_KERNEL, 0);
	ck_assert_int_lt(llabs((int64_t)(k->g.r.begin - bench.now())), 10000000000ll);
}
END_TEST

START_TEST(what_does_not_fit_is_counted)
{
	struct cycle_info *info;
	size_t dropped = 0;

	bench_start("13.0");
	it.size = 1000; /* four kernels */
	it.most = 2;
	info = bench_open();
	ck_assert_int_eq(CALL(ActivityRegisterCallbacks)(requested, completed), 0);
	ck_assert_int_eq(CALL(ActivityEnable)(KIND_CONCURRENT_KERNEL), 0);
	launches(20);
	bench.synchronize();
	ck_assert_int_eq(CALL(ActivityFlushAll)(0), 0);
	ck_assert_int_eq(CALL(ActivityGetNumDroppedRecords)(NULL, 0, &dropped), 0);
	ck_assert_uint_eq(it.kernels, 8);
	ck_assert_uint_eq(dropped, 12);
	ck_assert_int_eq(CALL(ActivityGetNumDroppedRecords)(NULL, 0, &dropped), 0);
	ck_assert_uint_eq(dropped, 0);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 5000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 20);
	ck_assert_uint_eq(bench_count(info, CUDA_DROPPED), 0);
}
END_TEST

/* CUPTI tells of a loss once: whoever asks, both are told. */
START_TEST(losses_are_told_to_both)
{
	struct cycle_info *info;
	size_t dropped = 0;

	bench_start("13.0");
	info = bench_open();
	client_starts();
	bench.fake_set("FAKE_DROP_EVERY", "2");
	launches(20);
	bench.fake_set("FAKE_DROP_EVERY", NULL);
	client_stops();
	ck_assert_int_eq(CALL(ActivityGetNumDroppedRecords)(NULL, 0, &dropped), 0);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 5000));
	ck_assert_uint_ge(dropped, 19);
	ck_assert_uint_eq(bench_count(info, CUDA_DROPPED), dropped);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("tee");

	tcase_add_checked_fixture(tc, enter, NULL);
	tcase_add_loop_test(tc, both_have_everything, 0, VERSIONS);
	tcase_add_loop_test(tc, windows_come_and_go, 0, VERSIONS);
	tcase_add_loop_test(tc, we_flush_and_it_does_not, 0, VERSIONS);
	tcase_add_test(tc, work_across_its_edges);
	tcase_add_test(tc, ids_of_threads_are_of_its_kind);
	tcase_add_test(tc, its_clock_is_not_ours);
	tcase_add_test(tc, what_does_not_fit_is_counted);
	tcase_add_test(tc, losses_are_told_to_both);
	return unit_run(tc, "tee");
}
