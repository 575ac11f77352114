/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI takes its time where kinds are switched: who waits, and what is told. */
#include "tests/unit/cupti_bench.h"

#include <pthread.h>
#include <sys/resource.h>

static void launches(unsigned n)
{
	while (n--)
		bench_launch("_Z3addPf");
}

static int (*real_enable)(uint32_t kind);
static _Atomic bool entered, may_leave;

static int enable_when_told(uint32_t kind)
{
	atomic_store(&entered, true);
	while (!atomic_load(&may_leave))
		usleep(1000);
	return real_enable(kind);
}

/* Of this thread: what waits a millisecond at a time, a hundred times at most. */
static long waits(void)
{
	struct rusage used;

	ck_assert_int_eq(getrusage(RUSAGE_THREAD, &used), 0);
	return used.ru_nvcsw;
}

/* The consumer is at it when this returns. */
static void switch_on_slowly(void)
{
	real_enable = cupti.ActivityEnable;
	cupti.ActivityEnable = enable_when_told;
	cupti_near();
	while (!atomic_load(&entered))
		usleep(1000);
}

/* CUPTI takes its time to switch on: the program goes on, and what is missed is told. */
START_TEST(the_program_does_not_wait_for_a_slow_cupti)
{
	struct cycle_info *info;
	long before;

	bench_start("13.0");
	switch_on_slowly();
	before = waits();
	info = bench_open();
	ck_assert_int_lt(waits() - before, 300);
	ck_assert(!kinds_ours_on());
	launches(3);
	atomic_store(&may_leave, true);
	while (!kinds_ours_on())
		usleep(1000);
	launches(4);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 3000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 4);
	ck_assert_uint_eq(bench_count(info, CUDA_GAPS), 1);
	ck_assert_uint_gt(bench_count(info, CUDA_GAP_NS), 90000000);
	/* The next one has none. */
	info = bench_open();
	launches(2);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 3000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 2);
	ck_assert_uint_eq(bench_count(info, CUDA_GAPS), 0);
}
END_TEST

/* They are over before kinds come on: each has its own gap. */
START_TEST(windows_that_were_missed_whole_have_a_gap)
{
	struct cycle_info *info[2];

	bench_start("13.0");
	switch_on_slowly();
	for (int i = 0; i < 2; i++) {
		long before = waits();

		info[i] = bench_open(); /* only the first one waits */
		ck_assert_int_lt(waits() - before, i ? 20 : 300);
		launches(3);
		bench_seal(info[i], true);
	}
	atomic_store(&may_leave, true);
	for (int i = 0; i < 2; i++) {
		ck_assert(bench_settles(info[i], 3000));
		ck_assert_uint_eq(bench_records(info[i], REC_KERNEL), 0);
		ck_assert_uint_eq(bench_count(info[i], CUDA_GAPS), 1);
		ck_assert_uint_gt(bench_count(info[i], CUDA_GAP_NS), i ? 0 : 90000000);
	}
}
END_TEST

static int (*real_disable)(uint32_t kind);

static int disable_when_told(uint32_t kind)
{
	atomic_store(&entered, true);
	while (!atomic_load(&may_leave))
		usleep(1000);
	return real_disable(kind);
}

/* They go off just then, after a window (0) or as the program asked for (1): they are on
 * again a moment later, and the gap lasts until then. */
START_TEST(a_window_opens_as_kinds_go_off)
{
	struct cycle_info *info;
	bool switched = _i;

	bench_start("13.0");
	info = bench_open();
	launches(1);
	real_disable = cupti.ActivityDisable;
	cupti.ActivityDisable = disable_when_told;
	if (switched)
		cupti_collect(false);
	else
		bench_seal(info, true);
	while (!atomic_load(&entered))
		usleep(1000);
	if (switched) {
		cupti_collect(true);
		bench_seal(info, true);
	}
	info = bench_open();
	ck_assert(!kinds_ours_on());
	launches(3);
	atomic_store(&may_leave, true);
	while (!kinds_ours_on())
		usleep(1000);
	launches(4);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 3000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 4);
	ck_assert_uint_eq(bench_count(info, CUDA_GAPS), 1);
	ck_assert_uint_gt(bench_count(info, CUDA_GAP_NS), 90000000);
}
END_TEST

static void *hold_as_client(void *arg)
{
	(void)arg;
	kinds_theirs(KIND_SYNCHRONIZATION, true); /* enable_when_told keeps it */
	return NULL;
}

/* A client of the same CUPTI is slow, and ours are on: nothing is missed. */
START_TEST(a_slow_client_is_no_gap)
{
	struct cycle_info *before, *info;
	pthread_t client;

	bench_spool();
	bench.config.cuda_sync = 0;
	bench_libraries("13.0");
	bench_begin_session();
	before = bench_open();
	real_enable = cupti.ActivityEnable;
	cupti.ActivityEnable = enable_when_told;
	ck_assert_int_eq(pthread_create(&client, NULL, hold_as_client, NULL), 0);
	while (!atomic_load(&entered))
		usleep(1000);
	info = bench_open();
	ck_assert(kinds_ours_on());
	launches(3);
	atomic_store(&may_leave, true);
	pthread_join(client, NULL);
	bench_seal(before, true);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 3000));
	ck_assert_uint_eq(bench_count(info, CUDA_GAPS), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("slow");

	tcase_add_test(tc, the_program_does_not_wait_for_a_slow_cupti);
	tcase_add_test(tc, windows_that_were_missed_whole_have_a_gap);
	tcase_add_loop_test(tc, a_window_opens_as_kinds_go_off, 0, 2);
	tcase_add_test(tc, a_slow_client_is_no_gap);
	return unit_run(tc, "cupti, slow");
}
