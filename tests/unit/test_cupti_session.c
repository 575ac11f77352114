/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cupti_bench.h"

/* agent/cupti as a whole on the fake: from the driver's first answer to settled windows.
 */

static char log_path[] = "/tmp/test_cupti_XXXXXX";

/* How many lines of CUPTI's log begin like that. */
static unsigned logged(const char *text)
{
	char line[256];
	unsigned n = 0;
	FILE *f = fopen(log_path, "r");

	while (f && fgets(line, sizeof(line), f))
		n += !strncmp(line, text, strlen(text));
	if (f)
		fclose(f);
	return n;
}

static void start_logged(const char *version)
{
	close(mkstemp(log_path));
	setenv("FAKE_LOG", log_path, 1);
	bench_start(version);
}

static void launches(unsigned n)
{
	while (n--)
		bench_launch("_Z3addPf");
}

static bool kinds_go_off(void)
{
	struct fake_cupti state;

	for (int i = 0; i < 1000; i++) {
		bench.state(&state);
		if (!(state.kinds & ~(1ull << KIND_CONCURRENT_KERNEL)) &&
		    !state.runtime_calls && !state.driver_calls)
			return true;
		usleep(1000);
	}
	return false;
}

START_TEST(a_window)
{
	struct cycle_info *info;
	const struct rec_moment *m;
	const struct rec_device *device;
	void *memory;

	bench_start(versions[_i]);
	ck_assert_int_eq(bench.alloc(&memory, 4096), 0);
	launches(3); /* before: nobody's */
	info = bench_open();
	launches(20);
	ck_assert_int_eq(bench.set(memory, 1, 4096), 0);
	ck_assert_int_eq(bench.synchronize(), 0);
	bench_seal(info, true);
	launches(3);
	ck_assert(bench_settles(info, 5000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 20);
	ck_assert_uint_eq(bench_records(info, REC_SET), 1);
	ck_assert_uint_eq(bench_records(info, REC_CALL), 22);
	for (enum cuda_count i = 0; i < CUDA_COUNTS; i++)
		ck_assert_msg(!bench_count(info, i), "count %d is %lu", (int)i,
			      (unsigned long)bench_count(info, i));
	ck_assert_uint_ge(bench_records(info, REC_MOMENT), 2);
	m = bench_record(info, REC_MOMENT, 0);
	ck_assert_uint_lt(m->error, 1u << 24);
	ck_assert_int_lt(
		llabs((int64_t)(m->r.end - (uint64_t)sys_clock_ns(CLOCK_REALTIME))),
		10000000000ll);
	device = bench_record(info, REC_GPU, 0);
	ck_assert(device && device->sms && device->warp && bench_name(device->r.name)[0]);
	ck_assert_uint_gt(device->shared_optin, 0);
	ck_assert_uint_ge(bench.settled, 1);
	ck_assert_uint_eq(bench.used, 1);
	ck_assert_uint_eq(bench.estimate, 0);
	ck_assert(kinds_go_off());
	ck_assert(strstr(spool.head->facts, "cuda = {\"state\": \"recording\""));
}
END_TEST

START_TEST(each_window_has_its_own)
{
	struct cycle_info *info[8];

	bench_start("13.0");
	for (unsigned i = 0; i < 8; i++) {
		info[i] = bench_open();
		if (i) {
			__atomic_store_n(&info[i - 1]->end, info[i]->begin,
					 __ATOMIC_RELEASE);
			cupti_sealed(info[i - 1], true);
		}
		launches(i + 1);
	}
	bench_seal(info[7], true);
	for (unsigned i = 0; i < 8; i++) {
		ck_assert(bench_settles(info[i], 5000));
		ck_assert_uint_eq(bench_records(info[i], REC_KERNEL), i + 1);
		ck_assert_uint_eq(bench_records(info[i], REC_CALL), i + 1);
	}
}
END_TEST

START_TEST(kinds_stay_on_between_neighbours)
{
	struct cycle_info *a, *b;

	start_logged("13.1");
	a = bench_open();
	launches(5);
	b = bench_open();
	__atomic_store_n(&a->end, b->begin, __ATOMIC_RELEASE);
	cupti_sealed(a, true);
	ck_assert(bench_settles(a, 5000));
	launches(5);
	usleep(50000);
	ck_assert_uint_eq(logged("cuptiActivityDisable "), 0);
	bench_seal(b, true);
	ck_assert(bench_settles(b, 5000));
	ck_assert(kinds_go_off());
	ck_assert_uint_gt(logged("cuptiActivityDisable "), 0);
	unlink(log_path);
}
END_TEST

START_TEST(work_that_ends_after_its_window)
{
	struct cycle_info *info;

	bench_start("12.4");
	bench.fake_set("FAKE_KERNEL_NS", "2500000000");
	info = bench_open();
	launches(1);
	bench_seal(info, true);
	ck_assert(!bench_settles(info, 2000));
	ck_assert(bench_settles(info, 5000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 1);
	ck_assert_uint_eq(bench_count(info, CUDA_MISSING), 0);
	ck_assert_uint_eq(bench_count(info, CUDA_OUTSIDE), 0);
}
END_TEST

START_TEST(a_window_that_is_thrown_away)
{
	struct cycle_info *info;

	bench_start("13.0");
	info = bench_open();
	launches(5);
	bench_seal(info, false);
	ck_assert(bench_settles(info, 1000));
	usleep(200000);
	ck_assert_uint_eq(atomic_load(&spool.head->totals.cuda[CUDA_LATE]), 0);
}
END_TEST

START_TEST(a_window_without_work)
{
	struct cycle_info *info;

	bench_start(versions[_i]);
	info = bench_open();
	bench_seal(info, true);
	ck_assert(bench_settles(info, 3000));
	info = bench_open();
	launches(2);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 3000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 2);
}
END_TEST

START_TEST(a_window_before_there_is_a_driver)
{
	struct cycle_info *info, *early;

	bench_spool();
	bench_libraries("13.0");
	session.wanted = true;
	early = bench_open();
	bench_seal(early, true); /* no GPU part: nothing to wait for */
	ck_assert_uint_eq(atomic_load(&early->cuda_state), CUDA_NONE);
	info = bench_open();
	ck_assert_uint_eq(atomic_load(&info->cuda_state), CUDA_PENDING);
	bench_begin_session();
	launches(4);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 3000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 4);
}
END_TEST

START_TEST(announced_windows_are_armed_by_the_consumer)
{
	struct fake_cupti state = { 0 };
	struct cycle_info *info;

	bench_start("12.8");
	cupti_near();
	for (int i = 0; i < 1000 && !(state.kinds >> KIND_CONCURRENT_KERNEL & 1); i++) {
		usleep(1000);
		bench.state(&state);
	}
	ck_assert(state.kinds >> KIND_CONCURRENT_KERNEL & 1);
	ck_assert_uint_gt(state.runtime_calls, 10);
	ck_assert(!(state.kinds >> KIND_RUNTIME & 1));
	info = bench_open();
	launches(2);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 3000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 2);
}
END_TEST

START_TEST(switched_off_and_on)
{
	struct cycle_info *info;

	bench_start("13.1");
	cupti_collect(false);
	info = bench_open();
	launches(3);
	cupti_collect(true);
	for (int i = 0; i < 1000 && !kinds_ours_on(); i++)
		usleep(1000);
	launches(4);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 3000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 4);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("session");

	tcase_add_loop_test(tc, a_window, 0, VERSIONS);
	tcase_add_test(tc, each_window_has_its_own);
	tcase_add_test(tc, kinds_stay_on_between_neighbours);
	tcase_add_test(tc, work_that_ends_after_its_window);
	tcase_add_test(tc, a_window_that_is_thrown_away);
	tcase_add_loop_test(tc, a_window_without_work, 0, VERSIONS);
	tcase_add_test(tc, a_window_before_there_is_a_driver);
	tcase_add_test(tc, announced_windows_are_armed_by_the_consumer);
	tcase_add_test(tc, switched_off_and_on);
	return unit_run(tc, "CUPTI's session");
}
