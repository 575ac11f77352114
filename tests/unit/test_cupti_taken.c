/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cupti_bench.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

/* Switched, waited for and given back. */

static void (*handlers[64])(void);
static unsigned registered;

int atexit(void (*handler)(void))
{
	handlers[registered++ % 64] = handler;
	return 0;
}

static double seconds(int64_t since)
{
	return (double)(sys_clock_ns(CLOCK_MONOTONIC) - since) / 1e9;
}

static struct fake_cupti now(void)
{
	struct fake_cupti state;

	bench.state(&state);
	return state;
}

/* ---- kinds.c ---- */

START_TEST(what_was_switched_on_goes_off_when_one_is_refused)
{
	bench_start("13.0");
	bench.fake_set("FAKE_ERROR", "cuptiActivityEnable/10=35");
	bench_open();
	ck_assert(!cupti_active());
	/* A window that opens does not wait for all that is to go off. */
	for (int ms = 0; ms < 10000 && (now().kinds || now().runtime_calls); ms++)
		usleep(1000);
	ck_assert_uint_eq(now().kinds, 0);
	ck_assert_uint_eq(now().runtime_calls, 0);
}
END_TEST

START_TEST(a_call_that_is_not_known_there_does_not_matter)
{
	bench_start("13.0");
	bench.fake_set("FAKE_ERROR", "cuptiActivityEnableRuntimeApi/20=1");
	bench_open();
	ck_assert(cupti_active());
	ck_assert(kinds_ours_on());
}
END_TEST

START_TEST(a_clients_calls_stay_on_without_us)
{
	bench_start("13.0");
	ck_assert_int_eq(kinds_theirs_api(DOMAIN_RUNTIME, 211, true), 0);
	ck_assert_int_eq(kinds_ours(true), 0);
	ck_assert_uint_gt(now().runtime_calls, 10);
	ck_assert_int_eq(kinds_ours(false), 0);
	ck_assert_uint_eq(now().runtime_calls, 1);
}
END_TEST

START_TEST(a_child_has_no_client)
{
	bench_start("13.0");
	ck_assert_int_eq(kinds_theirs(KIND_CONCURRENT_KERNEL, true), 0);
	ck_assert_int_eq(kinds_theirs_api(DOMAIN_RUNTIME, 211, true), 0);
	session.deny = 0;
	ck_assert(kinds_stray());
	cupti_fork_child();
	ck_assert(!kinds_stray());
	ck_assert(!kinds_ours_on());
}
END_TEST

START_TEST(nothing_is_switched_on_beside_another)
{
	bench_start("13.0");
	ck_assert(retreat_step("somebody"));
	ck_assert_int_eq(kinds_ours(true), 0);
	ck_assert(!kinds_ours_on());
	ck_assert_uint_eq(now().kinds, 0);
}
END_TEST

START_TEST(only_what_was_asked_for_is_wanted)
{
	const uint64_t sync = 1ull << KIND_SYNCHRONIZATION | 1ull << KIND_CUDA_EVENT;

	bench_start("13.0");
	bench.config.cuda_sync = bench.config.cuda_memory = false;
	kinds_start();
	ck_assert(!(kinds_for_ours() & (sync | 1ull << KIND_MEMORY2)));
	bench.config.cuda_sync = bench.config.cuda_memory = true;
	kinds_start();
	ck_assert((kinds_for_ours() & sync) == sync);
	ck_assert(kinds_for_ours() >> KIND_MEMORY2 & 1);
}
END_TEST

/* ---- consumer.c, contexts.c, subscription.c ---- */

START_TEST(who_asks_for_a_flush_is_told_when_it_is_done)
{
	int64_t since;

	bench_start("13.0");
	bench_open();
	since = sys_clock_ns(CLOCK_MONOTONIC);
	for (unsigned i = 0; i < 5; i++) {
		bench_launch("_Z3addPf");
		consumer_flush(20000000000);
	}
	ck_assert(seconds(since) < 15);
}
END_TEST

static double waited = -1;

static void flushes(void)
{
	int64_t since = sys_clock_ns(CLOCK_MONOTONIC);

	consumer_flush(3000000000);
	waited = seconds(since);
}

/* It is the one that would do it. */
START_TEST(the_consumer_does_not_wait_for_itself)
{
	struct cycle_info *info;

	bench_start("13.0");
	session.act.settled = flushes;
	info = bench_open();
	bench_launch("_Z3addPf");
	bench_seal(info, true);
	for (int ms = 0; ms < 8000 && waited < 0; ms++)
		usleep(1000);
	ck_assert(waited >= 0 && waited < 2);
}
END_TEST

static uint32_t cbid_of(const char *name)
{
	for (uint32_t cbid = 0; cbid < CALLS_MOST; cbid++) {
		struct call *c = calls_get(DOMAIN_RUNTIME, cbid);

		if (c && !strncmp(c->name, name, strlen(name)))
			return cbid;
	}
	ck_abort_msg("%s", name);
	return 0;
}

/* A window is near and none is open: nobody flushes but for this. */
START_TEST(a_context_is_fetched_before_it_ends)
{
	const int enter = 0, leave = 1;
	uint64_t before;

	bench_start("13.0");
	cupti_near();
	for (int ms = 0; ms < 5000 && !kinds_ours_on(); ms++)
		usleep(1000);
	bench_launch("_Z3addPf");
	bench.wait();
	before = now().completed;
	contexts_callback(DOMAIN_RUNTIME, cbid_of("cudaDeviceReset"), &leave);
	contexts_callback(DOMAIN_RUNTIME, cbid_of("cudaDeviceSynchronize"), &enter);
	ck_assert_uint_eq(now().completed, before);
	contexts_callback(DOMAIN_RUNTIME, cbid_of("cudaDeviceReset"), &enter);
	for (int ms = 0; ms < 5000 && now().completed == before; ms++)
		usleep(1000);
	ck_assert_uint_gt(now().completed, before);
}
END_TEST

/* ---- cupti.c, exit.c ---- */

START_TEST(an_empty_variable_names_no_tool)
{
	static const struct cupti_actions actions = { bench_begin, bench_used,
						      bench_settled, bench_estimate };

	bench_spool();
	setenv("CUDA_INJECTION64_PATH", "", 1);
	cupti_start(&bench.config, &actions, "/here/libproflaunch.so");
	ck_assert_ptr_null(session.foreign);
	for (char **e = environ; *e; e++)
		if (!strcmp(*e, "CUDA_INJECTION64_PATH=/here/libproflaunch.so"))
			return;
	ck_abort_msg("it is not set");
}
END_TEST

/* A system call that an allocator makes on the way may have failed. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
		   void *(*body)(void *), void *arg)
{
	typeof(pthread_create) *real = dlsym(RTLD_NEXT, "pthread_create");
	int result = real(thread, attributes, body, arg);

	errno = EIO;
	return result;
}

START_TEST(a_thread_of_ours_leaves_errno)
{
	bench_start("13.0");
	errno = ENOENT;
	ck_assert(consumer_start());
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

START_TEST(nothing_is_switched_on_behind_the_end)
{
	bench_start("13.0");
	if (_i) /* there is one already */
		ck_assert(consumer_start());
	cupti_exit();
	bench_open();
	ck_assert(!kinds_ours_on());
	ck_assert_uint_eq(now().kinds, 0);
}
END_TEST

/* vfork's: it has our memory, but not our threads, and ends nothing. */
START_TEST(another_process_ends_nothing)
{
	int status;
	pid_t child;

	bench_start("13.0");
	bench_open();
	bench_launch("_Z3addPf");
	child = fork();
	if (!child) {
		cupti_exit();
		_exit(consumer_ends());
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(all_handlers_together_wait_two_seconds)
{
	int64_t since;

	bench_start("13.0");
	bench_open();
	bench_launch("_Z3addPf");
	exit_register();
	ck_assert_uint_ge(registered, 2);
	bench.fake_set("FAKE_HANG", "flush");
	since = sys_clock_ns(CLOCK_MONOTONIC);
	for (unsigned i = 0; i < registered; i++)
		handlers[i]();
	ck_assert_msg(seconds(since) < 3.5, "%f", seconds(since));
	_exit(0); /* the fake's own threads hang, too */
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("taken");

	tcase_add_test(tc, what_was_switched_on_goes_off_when_one_is_refused);
	tcase_add_test(tc, a_call_that_is_not_known_there_does_not_matter);
	tcase_add_test(tc, a_clients_calls_stay_on_without_us);
	tcase_add_test(tc, a_child_has_no_client);
	tcase_add_test(tc, nothing_is_switched_on_beside_another);
	tcase_add_test(tc, only_what_was_asked_for_is_wanted);
	tcase_add_test(tc, who_asks_for_a_flush_is_told_when_it_is_done);
	tcase_add_test(tc, the_consumer_does_not_wait_for_itself);
	tcase_add_test(tc, a_context_is_fetched_before_it_ends);
	tcase_add_test(tc, an_empty_variable_names_no_tool);
	tcase_add_test(tc, a_thread_of_ours_leaves_errno);
	tcase_add_loop_test(tc, nothing_is_switched_on_behind_the_end, 0, 2);
	tcase_add_test(tc, another_process_ends_nothing);
	tcase_add_test(tc, all_handlers_together_wait_two_seconds);
	return unit_run(tc, "cupti, taken");
}
