/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tee_bench.h"

#include <sched.h>
#include <sys/resource.h>

/* Who has CUPTI: the program's own profiler alone, first, or as one that cannot be
 * shared with. */

START_TEST(alone_it_goes_straight_on)
{
	struct fake_cupti state;

	without_us(versions[_i]);
	client_starts();
	launches(10);
	bench.state(&state);
	ck_assert(state.kinds >> KIND_RUNTIME & 1);
	client_stops();
	ck_assert_uint_eq(it.kernels, 10);
	ck_assert_uint_eq(it.calls, 11);
	bench.state(&state);
	ck_assert_uint_eq(state.kinds, 0);
	ck_assert_uint_eq(it.out, 0);
	ck_assert_uint_eq(buffers_turn(), 0);
}
END_TEST

/* It had CUPTI's own callbacks, kinds on and a buffer half full when we came. */
START_TEST(it_came_first)
{
	struct cycle_info *info;

	without_us(versions[_i]);
	client_starts();
	launches(10);
	cupti_driver_ready();
	ck_assert(cupti_active());
	info = bench_open();
	launches(20);
	client_stops();
	launches(5);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 5000));
	ck_assert_uint_eq(it.kernels, 30);
	ck_assert_uint_eq(it.calls, 31);
	ck_assert_uint_eq(it.foreign, 0);
	ck_assert_uint_eq(it.out, 0);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 25);
	/* A second time, all through us. */
	client_starts();
	launches(3);
	client_stops();
	ck_assert_uint_eq(it.kernels, 33);
	ck_assert_uint_eq(it.out, 0);
}
END_TEST

static _Atomic unsigned told;

static void called_back(void *arg, int domain, uint32_t id, const void *data)
{
	(void)id;
	(void)data;
	ck_assert_ptr_eq(arg, &it);
	told += domain == DOMAIN_RUNTIME;
	ck_assert_int_eq(domain, DOMAIN_RUNTIME);
}

START_TEST(one_subscription_serves_two)
{
	void *handle = NULL, *second = NULL;
	struct cycle_info *info;

	if (_i) { /* it came first */
		without_us("12.8");
		ck_assert_int_eq(CALL(Subscribe)(&handle, called_back, &it), 0);
		cupti_driver_ready();
	} else {
		bench_start("12.8");
		ck_assert_int_eq(CALL(Subscribe)(&handle, called_back, &it), 0);
	}
	ck_assert(cupti_active());
	ck_assert_int_eq(CALL(Subscribe)(&second, called_back, &it), 39);
	info = bench_open();
	launches(2);
	ck_assert_uint_eq(told, 0);
	ck_assert_int_eq(CALL(EnableDomain)(1, handle, DOMAIN_RUNTIME), 0);
	launches(3);
	ck_assert_uint_eq(told, 6);
	ck_assert_int_eq(CALL(Unsubscribe)(handle), 0);
	launches(4);
	ck_assert_uint_eq(told, 6);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 5000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 9);
	ck_assert_int_eq(CALL(Subscribe)(&second, called_back, &it), 0);
	ck_assert_int_eq(CALL(Unsubscribe)(second), 0);
}
END_TEST

/* By itself, in time: nobody rings for it. */
static void come_back(void)
{
	for (int ms = 0; ms < 20000 && !cupti_active(); ms++)
		usleep(1000);
	ck_assert(cupti_active());
	for (int ms = 0; ms < 20000 && !kinds_ours_on(); ms++)
		usleep(1000);
	ck_assert(kinds_ours_on());
}

/* Names of the second interface: we go, and come back with the next window. */
START_TEST(what_cannot_be_shared)
{
	struct fake_cupti state;
	struct cycle_info *info;

	bench_start("13.3");
	info = bench_open();
	launches(5);
	cupti_asked_for("cuptiSubscribe_v2");
	ck_assert(!cupti_active());
	bench.state(&state);
	ck_assert_uint_eq(state.subscribers, 0);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 5000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 5);
	ck_assert_uint_eq(bench_count(info, CUDA_GAPS), 1);
	info = bench_open();
	cupti_near();
	come_back();
	launches(4);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 5000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 4);
	ck_assert_uint_eq(bench_count(info, CUDA_GAPS), 1);
}
END_TEST

static void completed_slowly(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			     size_t valid)
{
	usleep(100000);
	completed(context, stream, buffer, size, valid);
}

static void *seal_soon(void *info)
{
	usleep(30000);
	bench_seal(info, true);
	return NULL;
}

/* While we go, what CUPTI holds of ours is still on its way: the window waits for it. */
START_TEST(a_window_ends_while_we_go)
{
	struct cycle_info *info;
	pthread_t thread;

	bench_start("13.3");
	it.size = 1000; /* four kernels: it is handed some, and takes its time */
	info = bench_open();
	ck_assert_int_eq(CALL(ActivityRegisterCallbacks)(requested, completed_slowly), 0);
	ck_assert_int_eq(CALL(ActivityEnable)(KIND_CONCURRENT_KERNEL), 0);
	launches(10);
	bench.synchronize();
	ck_assert_int_eq(pthread_create(&thread, NULL, seal_soon, info), 0);
	retreat_second_interface();
	pthread_join(thread, NULL);
	ck_assert(bench_settles(info, 5000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 10);
	ck_assert_uint_eq(bench_count(info, CUDA_GAPS), 1);
	ck_assert_uint_eq(it.kernels, 10);
}
END_TEST

/* The moment at which it has gone: it is woken before its waker goes on. */
START_TEST(we_come_back_when_it_has_gone)
{
	struct fake_cupti state;
	struct cycle_info *info;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	bench_start("13.0");
	info = bench_open();
	launches(1);
	ck_assert_int_eq(setpriority(PRIO_PROCESS, 0, 19), 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(CALL(ActivityEnable)(KIND_KERNEL), 0);
		ck_assert(!cupti_active());
		ck_assert_int_eq(CALL(ActivityDisable)(KIND_KERNEL), 0);
		come_back();
		bench.state(&state);
		ck_assert(!(state.kinds >> KIND_KERNEL & 1));
		launches(2);
	}
	bench_seal(info, true);
	ck_assert(bench_settles(info, 5000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 7);
	/* Those with nothing between them are one. */
	ck_assert_uint_ge(bench_count(info, CUDA_GAPS), 1);
	ck_assert_uint_le(bench_count(info, CUDA_GAPS), 3);
}
END_TEST

/* A CUPTI inside the program's libtorch: we go while its profiler runs. */
START_TEST(another_cupti_in_the_process)
{
	struct cycle_info *info;

	bench_start("13.0");
	info = bench_open();
	launches(3);
	cupti_other(true);
	ck_assert(!cupti_active());
	launches(2);
	usleep(20000);
	ck_assert(!cupti_active()); /* not while it is at work, though a window is open */
	cupti_other(false);
	come_back();
	launches(4);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 5000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 7);
	ck_assert_uint_eq(bench_count(info, CUDA_GAPS), 1);
	ck_assert_uint_gt(bench_count(info, CUDA_GAP_NS), 20000000);
}
END_TEST

/* What it switches while we are not there is known when we come back. */
START_TEST(it_stops_while_we_are_away)
{
	struct fake_cupti state;
	struct cycle_info *info;

	bench_start("13.0");
	info = bench_open();
	client_starts();
	launches(2);
	retreat_second_interface();
	launches(3);
	client_stops();
	subscription_return();
	ck_assert(cupti_active());
	bench_seal(info, true);
	ck_assert(bench_settles(info, 5000));
	for (int ms = 0; ms < 1000 && kinds_ours_on(); ms++)
		usleep(1000);
	bench.state(&state);
	ck_assert_uint_eq(state.kinds, 0);
	ck_assert_uint_eq(state.runtime_calls, 0);
	ck_assert_uint_eq(it.kernels, 5);
	ck_assert_uint_eq(it.foreign, 0);
	ck_assert_uint_eq(it.out, 0);
}
END_TEST

/* No libcupti anywhere: what a program finds is ours, and it says so. */
START_TEST(without_a_cupti)
{
	size_t dropped;

	session.wanted = true;
	ck_assert_int_eq(CALL(ActivityEnable)(1), 999);
	ck_assert_int_eq(CALL(ActivityRegisterCallbacks)(requested, completed), 999);
	ck_assert_int_eq(CALL(ActivityFlushAll)(0), 999);
	ck_assert_int_eq(CALL(ActivityGetNumDroppedRecords)(NULL, 0, &dropped), 999);
	ck_assert_int_eq(CALL(Finalize)(), 999);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("tee, turns");

	tcase_add_checked_fixture(tc, enter, NULL);
	tcase_add_loop_test(tc, alone_it_goes_straight_on, 0, VERSIONS);
	tcase_add_loop_test(tc, it_came_first, 0, VERSIONS);
	tcase_add_loop_test(tc, one_subscription_serves_two, 0, 2);
	tcase_add_test(tc, what_cannot_be_shared);
	tcase_add_test(tc, a_window_ends_while_we_go);
	tcase_add_test(tc, we_come_back_when_it_has_gone);
	tcase_add_test(tc, another_cupti_in_the_process);
	tcase_add_test(tc, it_stops_while_we_are_away);
	tcase_add_test(tc, without_a_cupti);
	return unit_run(tc, "tee, turns");
}
