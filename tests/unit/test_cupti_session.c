/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cupti_bench.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

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

static double seconds(int64_t since)
{
	return (double)(clock_get_ns(CLOCK_MONOTONIC) - since) / 1e9;
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
		llabs((int64_t)(m->r.end - (uint64_t)clock_get_ns(CLOCK_REALTIME))),
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
			info[i - 1]->end = info[i]->begin;
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
	a->end = b->begin;
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

/* ---- what CUPTI does not do ---- */

static const char *const errors[] = {
	"cuptiSubscribe=39",
	"cuptiSubscribe=35",
	"cuptiSubscribe=999",
	"cuptiSubscribe=15",
	"cuptiGetVersion=999",
	"cuptiSetThreadIdType=999",
	"cuptiActivityRegisterCallbacks=1",
	"cuptiActivityEnable/10=35",
	"cuptiActivityEnable=999",
	"cuptiActivityEnableRuntimeApi=999",
	"cuptiActivityEnableDriverApi=15",
	"cuptiActivityFlushAll=999",
};
#define ERRORS ((int)(sizeof(errors) / sizeof(*errors)))

/* One line, hooks are asked to take over, windows are not held up, the program works. */
START_TEST(errors_are_told_once)
{
	char text[4096] = "", path[] = "/tmp/test_cupti_XXXXXX";
	int fd = mkstemp(path), saved = dup(2);
	struct cycle_info *info;
	unsigned lines = 0;

	unlink(path);
	bench_spool();
	setenv("FAKE_ERROR", errors[_i], 1);
	bench_libraries("13.1");
	dup2(fd, 2);
	bench_begin_session();
	for (unsigned i = 0; i < 3; i++) {
		info = bench_open();
		bench_launch("_Z3addPf");
		bench_seal(info, true);
		if (atomic_load(&info->cuda_state) == CUDA_PENDING)
			bench_settles(info, 3000);
		ck_assert_uint_ne(atomic_load(&info->cuda_state), CUDA_PENDING);
	}
	dup2(saved, 2);
	ck_assert_int_ge(pread(fd, text, sizeof(text) - 1, 0), 0);
	for (char *p = text; *p; p++)
		lines += *p == '\n';
	ck_assert_msg(lines == 1, "%s: %s", errors[_i], text);
	ck_assert_msg(strstr(text, "the GPU is not recorded"), "%s", text);
	ck_assert(!cupti_active());
	ck_assert_uint_eq(bench.estimate, 1);
}
END_TEST

static const char *const harmless[] = {
	"cuptiActivitySetAttribute=999",         "cuptiActivityEnable/17=21",
	"cuptiActivityEnableAndDump=999",        "cuptiGetTimestamp=999",
	"cuptiActivityGetNumDroppedRecords=999", "cuptiEnableCallback=1",
	"cuptiActivityGetNextRecord=999",        "cuptiActivityDisable=999",
};
#define HARMLESS ((int)(sizeof(harmless) / sizeof(*harmless)))

START_TEST(what_can_be_done_without)
{
	struct cycle_info *info;

	bench_spool();
	setenv("FAKE_ERROR", harmless[_i], 1);
	bench_libraries("13.1");
	bench_begin_session();
	ck_assert(cupti_active());
	info = bench_open();
	launches(5);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 3000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 5);
	ck_assert_uint_eq(bench_records(info, REC_CALL), 5);
	ck_assert(cupti_active());
}
END_TEST

START_TEST(another_tool_is_named)
{
	bench_spool();
	setenv("FAKE_OWNER", "CUPTI for nsys", 1);
	bench_libraries("13.0");
	bench_begin_session();
	ck_assert(!cupti_active());
	ck_assert(strstr(session.why, "CUPTI for nsys"));
}
END_TEST

START_TEST(another_tool_in_the_variable)
{
	static const struct cupti_actions actions = { bench_begin, bench_used,
						      bench_settled, bench_estimate };

	bench_spool();
	bench_libraries("13.0");
	setenv("CUDA_INJECTION64_PATH", "/opt/other.so", 1);
	cupti_start(&bench.config, &actions, "/nowhere/libproflaunch.so");
	ck_assert_str_eq(getenv("CUDA_INJECTION64_PATH"), "/opt/other.so");
	unsetenv("CUDA_INJECTION64_PATH");
	ck_assert_int_eq(bench.init(0), 0);
	cupti_driver_ready();
	ck_assert(!cupti_active());
	ck_assert(strstr(session.why, "/opt/other.so"));
}
END_TEST

START_TEST(the_variable_is_set)
{
	static const struct cupti_actions actions = { bench_begin, bench_used,
						      bench_settled, bench_estimate };
	size_t n = 0;

	while (environ[n])
		n++;
	unsetenv("CUDA_INJECTION64_PATH");
	bench_spool();
	bench.config.activities = ACTIVITIES_CPU;
	cupti_start(&bench.config, &actions, "/here/libproflaunch.so");
	ck_assert(!getenv("CUDA_INJECTION64_PATH"));
	bench.config.activities = ACTIVITIES_BOTH;
	cupti_start(&bench.config, &actions, "/here/libproflaunch.so");
	ck_assert_str_eq(getenv("CUDA_INJECTION64_PATH"), "/here/libproflaunch.so");
	setenv("AFTER", "1", 1); /* glibc copes with an environment of ours */
	ck_assert_str_eq(getenv("AFTER"), "1");
	ck_assert_str_eq(getenv("CUDA_INJECTION64_PATH"), "/here/libproflaunch.so");
}
END_TEST

START_TEST(attached_late)
{
	struct cycle_info *info;

	bench_spool();
	bench_libraries("12.4");
	session.wanted = true;
	session.config = bench.config;
	session.act = (struct cupti_actions){ bench_begin, bench_used, bench_settled,
					      bench_estimate };
	ck_assert_int_eq(bench.init(0), 0);
	launches(3);
	cupti_driver_ready();
	cupti_driver_ready();
	ck_assert(cupti_active());
	info = bench_open();
	launches(3);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 3000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 3);
	ck_assert_uint_eq(bench_records(info, REC_GPU), 1);
	ck_assert(strstr(spool.head->facts, "\"attached\": \"late\""));
}
END_TEST

/* ---- counts ---- */

static struct cycle_info *window_with(const char *variable, const char *value, unsigned n)
{
	struct cycle_info *info;

	bench.fake_set(variable, value);
	info = bench_open();
	launches(n);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 5000));
	return info;
}

START_TEST(what_is_wrong_is_counted)
{
	struct cycle_info *info;

	bench_start("12.8");
	info = window_with("FAKE_ZERO_EVERY", "5", 20);
	bench.fake_set("FAKE_ZERO_EVERY", NULL);
	ck_assert_uint_eq(bench_count(info, CUDA_ZERO), 4);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 16);
	ck_assert_uint_eq(bench_count(info, CUDA_MISSING), 0);
	info = window_with("FAKE_REVERSED_EVERY", "10", 20);
	bench.fake_set("FAKE_REVERSED_EVERY", NULL);
	ck_assert_uint_eq(bench_count(info, CUDA_REVERSED), 2);
	info = window_with("FAKE_DROP_EVERY", "4", 20);
	bench.fake_set("FAKE_DROP_EVERY", NULL);
	ck_assert_uint_eq(bench_count(info, CUDA_DROPPED), 10);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL) + bench_records(info, REC_CALL),
			  30);
	info = window_with("FAKE_ORDER", "reverse", 20);
	bench.fake_set("FAKE_ORDER", NULL);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 20);
	ck_assert_uint_eq(bench_count(info, CUDA_UNMATCHED), 0);
	info = window_with("FAKE_COMPLETE", "late", 20);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 20);
	info = window_with("FAKE_COMPLETE", "caller", 20);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 20);
}
END_TEST

START_TEST(ids_wrap)
{
	struct cycle_info *info;

	setenv("FAKE_CORRELATION", "4294967290", 1);
	bench_start("13.0");
	info = window_with("FAKE_NESTED", "1", 20);
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 20);
	ck_assert_uint_eq(bench_count(info, CUDA_MISSING), 0);
}
END_TEST

/* Times are CUPTI's, whose clock may show something else than ours. */
START_TEST(a_clock_of_its_own)
{
	const struct rec_kernel *k;
	struct cycle_info *info;

	setenv("FAKE_SKEW_NS", _i ? "-3600000000000" : "3600000000000", 1);
	bench_start("13.0");
	info = bench_open();
	launches(5);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 5000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 5);
	k = bench_record(info, REC_KERNEL, 0);
	ck_assert_int_lt(llabs((int64_t)(k->g.r.begin - bench.now())), 10000000000ll);
}
END_TEST

/* ---- buffers ---- */

START_TEST(sixty_four_threads_ask_at_once)
{
	struct cycle_info *info;
	struct fake_cupti state;

	bench_spool();
	bench.config.cuda_buffer_mb = _i ? 4 : 64;
	bench_libraries(_i == 2 ? "13.0" : "12.4");
	bench_begin_session();
	ck_assert(cupti_active());
	info = bench_open();
	bench.storm(64, 1000);
	bench.deliver();
	bench_seal(info, true);
	ck_assert(bench_settles(info, 8000));
	bench.state(&state);
	ck_assert_uint_eq(state.buffers_out, 0);
	if (_i == 1) /* older versions cannot be refused a buffer: what came is counted */
		ck_assert_uint_gt(bench_count(info, CUDA_DISCARDED), 0);
	if (_i == 2)
		ck_assert_uint_gt(state.refused, 0);
	launches(0);
	info = bench_open();
	launches(5);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 8000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 5);
}
END_TEST

/* ---- fork and the end ---- */

START_TEST(a_child_starts_anew)
{
	struct cycle_info *info;
	int status;
	pid_t child;

	bench_start("13.0");
	info = bench_open();
	launches(50);
	child = fork();
	if (!child) {
		cupti_fork_child();
		cupti_near();
		cupti_now();
		cupti_exit();
		_exit(cupti_active() || kinds_ours_on() ||
		      atomic_load(&session.state) != SESSION_DEAD);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	launches(50);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 5000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 100);
}
END_TEST

START_TEST(everything_is_fetched_at_the_end)
{
	int64_t since;
	struct cycle_info *info;

	bench_start(versions[_i]);
	bench.fake_set("FAKE_KERNEL_NS", "200000000");
	info = bench_open();
	launches(2);
	bench_seal(info, true);
	since = clock_get_ns(CLOCK_MONOTONIC);
	cupti_exit();
	ck_assert(seconds(since) < 2.5);
	ck_assert_uint_eq(atomic_load(&info->cuda_state), CUDA_SETTLED);
	ck_assert_msg(bench_records(info, REC_KERNEL) == 2, "%lu zero, %lu missing, %f s",
		      (unsigned long)bench_count(info, CUDA_ZERO),
		      (unsigned long)bench_count(info, CUDA_MISSING), seconds(since));
	cupti_exit();
	ck_assert(seconds(since) < 2.6);
}
END_TEST

static const char *const hangs[] = { "flush", "complete" };

START_TEST(the_end_does_not_wait_for_ever)
{
	int64_t since;
	struct cycle_info *info;

	bench_start("13.0");
	info = bench_open();
	launches(5);
	bench.fake_set("FAKE_HANG", hangs[_i]);
	bench_seal(info, true);
	usleep(50000);
	since = clock_get_ns(CLOCK_MONOTONIC);
	cupti_exit();
	ck_assert_msg(seconds(since) < 2.8, "%f", seconds(since));
	ck_assert_uint_eq(atomic_load(&info->cuda_state), CUDA_SETTLED);
	_exit(0); /* the fake's own threads hang, too */
}
END_TEST

START_TEST(windows_do_not_pile_up)
{
	static struct cycle_info *info[600];

	bench_start("13.0");
	bench.fake_set("FAKE_LATE_MS", "1500");
	for (unsigned i = 0; i < 600; i++) {
		info[i] = bench_open();
		if (i) {
			info[i - 1]->end = info[i]->begin;
			cupti_sealed(info[i - 1], true);
		}
	}
	bench_seal(info[599], true);
	for (unsigned i = 0; i < 600; i++)
		ck_assert(bench_settles(info[i], 5000));
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
	tcase_add_loop_test(tc, errors_are_told_once, 0, ERRORS);
	tcase_add_loop_test(tc, what_can_be_done_without, 0, HARMLESS);
	tcase_add_test(tc, another_tool_is_named);
	tcase_add_test(tc, another_tool_in_the_variable);
	tcase_add_test(tc, the_variable_is_set);
	tcase_add_test(tc, attached_late);
	tcase_add_test(tc, what_is_wrong_is_counted);
	tcase_add_test(tc, ids_wrap);
	tcase_add_loop_test(tc, a_clock_of_its_own, 0, 2);
	tcase_add_loop_test(tc, sixty_four_threads_ask_at_once, 0, 3);
	tcase_add_test(tc, a_child_starts_anew);
	tcase_add_loop_test(tc, everything_is_fetched_at_the_end, 0, VERSIONS);
	tcase_add_loop_test(tc, the_end_does_not_wait_for_ever, 0, 2);
	tcase_add_test(tc, windows_do_not_pile_up);
	return unit_run(tc, "CUPTI's session");
}
