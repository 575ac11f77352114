/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cupti_bench.h"

#include "agent/core/rare.h"
#include "agent/cupti/flow/contexts.h"
#include "agent/cupti/lib/calls.h"

#include <sys/wait.h>

/* What goes wrong is counted; the end comes in time. */

static void launches(unsigned n)
{
	while (n--)
		bench_launch("_Z3addPf");
}

static double seconds(int64_t since)
{
	return (double)(sys_clock_ns(CLOCK_MONOTONIC) - since) / 1e9;
}

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
	since = sys_clock_ns(CLOCK_MONOTONIC);
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

static int (*real_flush)(uint32_t flag);
static _Atomic bool forced;

static int flush_seen(uint32_t flag)
{
	int result = real_flush(flag);

	forced = forced || flag;
	return result;
}

/* What has to come back by force is more than there is room for. */
static int drops_then(void *context, uint32_t stream, size_t *dropped)
{
	(void)context, (void)stream;
	*dropped = atomic_exchange(&forced, false) ? 7 : 0;
	return 0;
}

START_TEST(what_the_last_flush_drops_is_counted)
{
	struct cycle_info *info;

	bench_start("13.0");
	real_flush = cupti.ActivityFlushAll;
	cupti.ActivityFlushAll = flush_seen;
	cupti.ActivityGetNumDroppedRecords = drops_then;
	bench.fake_set("FAKE_KERNEL_NS", "20000000000");
	info = bench_open();
	launches(2);
	bench_seal(info, true);
	cupti_exit();
	ck_assert_uint_eq(bench_count(info, CUDA_DROPPED), 7);
	_exit(0); /* the fake's kernels run on */
}
END_TEST

START_TEST(nobody_waits_for_a_flush_that_cannot_be)
{
	bench_start("13.0");
	session.deny |= DENY_FLUSH;
	bench_open();
	launches(1);
	alarm(30);
	for (unsigned i = 0; i < 200; i++) { /* the consumer may be born late */
		consumer_flush(3600 * 1000000000ll);
		usleep(1000);
	}
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
	since = sys_clock_ns(CLOCK_MONOTONIC);
	cupti_exit();
	ck_assert_msg(seconds(since) < 2.8, "%f", seconds(since));
	ck_assert_uint_eq(atomic_load(&info->cuda_state), CUDA_SETTLED);
	_exit(0); /* the fake's own threads hang, too */
}
END_TEST

static uint32_t number_of(const char *name)
{
	uint32_t cbid = 0;

	while (cbid < CALLS_MOST && (!calls_get(DOMAIN_DRIVER, cbid) ||
				     strcmp(calls_get(DOMAIN_DRIVER, cbid)->name, name)))
		cbid++;
	ck_assert_msg(cbid < CALLS_MOST, "%s", name);
	return cbid;
}

static _Atomic bool hang, flushing;

/* Nobody ends the pause: the test ends by _exit. */
static int flush_hangs(uint32_t flag)
{
	while (hang) {
		flushing = true;
		pause();
	}
	return real_flush(flag);
}

/* The consumer hangs in CUPTI: a window opens, a context ends, and neither waits for it
 * for longer than 100 ms. What the context's end waited counts as ours. */
START_TEST(the_program_does_not_wait_for_a_hanging_cupti)
{
	struct cycle_info *info;
	int64_t since, ns;
	uint64_t counted;

	bench_start("13.0");
	real_flush = cupti.ActivityFlushAll;
	cupti.ActivityFlushAll =
		flush_hangs; /* before the consumer flushes for the first time */
	info = bench_open();
	hang = true; /* the consumer may flush first behind any of these lines */
	launches(5);
	bench_seal(info, true);
	while (!flushing) /* the consumer may be born late */
		usleep(1000);
	rare_take();
	since = sys_clock_ns(CLOCK_MONOTONIC);
	contexts_callback(DOMAIN_DRIVER, number_of("cuCtxDestroy_v2"), &(int){ 0 });
	ns = sys_clock_ns(CLOCK_MONOTONIC) - since;
	counted = rare_take();
	bench_open();
	ck_assert_msg(seconds(since) < 0.95, "%f", seconds(since));
	ck_assert_int_ge(ns, 90000000);
	ck_assert_uint_ge(counted, 90000000);
	ck_assert_int_le((int64_t)counted, ns);
	_exit(0);
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
			__atomic_store_n(&info[i - 1]->end, info[i]->begin,
					 __ATOMIC_RELEASE);
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
	TCase *tc = tcase_create("end");

	tcase_add_test(tc, what_is_wrong_is_counted);
	tcase_add_test(tc, ids_wrap);
	tcase_add_loop_test(tc, a_clock_of_its_own, 0, 2);
	tcase_add_loop_test(tc, sixty_four_threads_ask_at_once, 0, 3);
	tcase_add_test(tc, a_child_starts_anew);
	tcase_add_loop_test(tc, everything_is_fetched_at_the_end, 0, VERSIONS);
	tcase_add_test(tc, what_the_last_flush_drops_is_counted);
	tcase_add_test(tc, nobody_waits_for_a_flush_that_cannot_be);
	tcase_add_loop_test(tc, the_end_does_not_wait_for_ever, 0, 2);
	tcase_add_test(tc, the_program_does_not_wait_for_a_hanging_cupti);
	tcase_add_test(tc, windows_do_not_pile_up);
	return unit_run(tc, "counts, buffers, fork and exit");
}
