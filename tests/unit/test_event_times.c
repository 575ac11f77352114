/* SPDX-License-Identifier: Apache-2.0 */
/* GPU times by events of a driver that the test plays. */
#include "agent/core/chunk.h"
#include "agent/core/record_gpu.h"
#include "tests/unit/call_bench.h"
#include "tests/unit/call_real.h"

#define EVERY 100 /* launches of a stream, of which one is asked about */

static struct event {
	unsigned number;
} events[1000];
static unsigned created, recorded;
static float begin_ms, end_ms; /* after the mark, of every pair */
static int capturing, asking_fails;

static int ctx_get_current(void **context)
{
	*context = &created;
	return 0;
}

static int ctx_get_device(int *device)
{
	*device = 3;
	return 0;
}

static int event_create(void **event, unsigned flags)
{
	(void)flags;
	events[created].number = created;
	*event = &events[created++];
	return 0;
}

static int event_record(void *event, void *stream)
{
	(void)event, (void)stream;
	recorded++;
	return 0;
}

static int event_query(void *event)
{
	(void)event;
	return 0;
}

/* The first one is the mark; then a begin, an end, a begin ... */
static float time_of(const struct event *e)
{
	return !e->number ? 0 : e->number % 2 ? begin_ms : end_ms;
}

static int event_elapsed(float *ms, void *a, void *b)
{
	*ms = time_of(b) - time_of(a);
	return 0;
}

static int is_capturing(void *stream, int *status)
{
	(void)stream;
	*status = capturing;
	return asking_fails;
}

static int mode_now = 1; /* the thread's own; others are put there for our calls */

static int exchange_mode(int *mode)
{
	int was = mode_now;

	mode_now = *mode;
	*mode = was;
	return 0;
}

static const struct real_function real_functions[] = {
	{ "cuCtxGetCurrent", (void *)ctx_get_current },
	{ "cuCtxGetDevice", (void *)ctx_get_device },
	{ "cuEventCreate", (void *)event_create },
	{ "cuEventRecord", (void *)event_record },
	{ "cuEventQuery", (void *)event_query },
	{ "cuEventElapsedTime", (void *)event_elapsed },
	{ "cuStreamIsCapturing", (void *)is_capturing },
	{ "cuThreadExchangeStreamCaptureMode", (void *)exchange_mode },
	{ NULL, NULL },
};

/* ---- the tests ---- */

static void setup(void)
{
	static const struct cuda_listener nobody;

	call_start(&nobody);
	cuda_hooks_want(CUDA_WANT_TIMES);
}

static void launch(const char *name, int result)
{
	struct cuda_frame f = frame(name);

	call(&f, result);
}

/* The n-th record of that kind in this thread's chunk. */
static const void *record(enum record_kind kind, unsigned n)
{
	const struct chunk *c = thread_mine ? thread_mine->chunk : NULL;

	for (uint32_t at = sizeof(*c); c && at < atomic_load(&c->used);) {
		const struct record *r = (const struct record *)((const char *)c + at);

		if (r->kind == kind && !n--)
			return r;
		at += r->units * 8u;
	}
	return NULL;
}

static uint64_t ticks_of_ms(double ms)
{
	return (uint64_t)(ms * clock_rate(spool.head) / 1000);
}

static void wait_until(uint64_t ticks)
{
	while (clock_ticks() < ticks)
		;
}

START_TEST(one_launch_in_a_hundred_is_asked_about)
{
	for (unsigned i = 0; i < 2 * EVERY + EVERY / 2; i++)
		launch("cuLaunchKernel", 0);
	launch("cudaDeviceSynchronize", 0);
	ck_assert_ptr_nonnull(record(REC_KERNEL, 2));
	ck_assert_ptr_null(record(REC_KERNEL, 3));
	ck_assert_uint_le(recorded, 3 * 3); /* begin, end, at most a mark */
}
END_TEST

/* Whatever comes of a launch: the program's captures would be other ones. */
START_TEST(a_threads_way_of_capturing_is_given_back)
{
	for (unsigned i = 0; i < 3 * EVERY; i++) {
		capturing = i == 2 * EVERY;
		launch(i % 2 ? "cudaLaunchKernel" : "cuLaunchKernel", i % 7 ? 0 : 700);
		ck_assert_int_eq(mode_now, 1);
		launch("cudaDeviceSynchronize", 0);
		ck_assert_int_eq(mode_now, 1);
	}
	ck_assert_uint_gt(recorded, 0);
}
END_TEST

START_TEST(a_kernel_lies_where_its_events_came)
{
	uint64_t before = clock_ticks();
	const struct rec_call *c;
	const struct rec_kernel *k;

	begin_ms = 50;
	end_ms = 70;
	launch("cuLaunchKernel", 0);
	wait_until(before + ticks_of_ms(100));
	launch("cudaDeviceSynchronize", 0);
	c = record(REC_CALL, 0);
	k = record(REC_KERNEL, 0);
	ck_assert_ptr_nonnull(k);
	ck_assert_uint_ge(k->g.r.begin, before + ticks_of_ms(50));
	ck_assert_uint_ge(k->g.r.begin, c->r.begin);
	ck_assert_uint_le(k->g.r.end, clock_ticks());
	if (k->g.r.begin > c->r.begin) { /* nobody was away for 50 ms */
		ck_assert_uint_gt(k->g.r.end - k->g.r.begin, ticks_of_ms(19.9));
		ck_assert_uint_lt(k->g.r.end - k->g.r.begin, ticks_of_ms(20.1));
	}
	ck_assert_int_eq(k->g.r.flags, GPU_ESTIMATE);
	ck_assert_uint_eq(k->g.correlation, c->correlation);
	ck_assert_uint_eq(k->g.stream, 90);
	ck_assert_uint_eq(k->g.device, 3);
	ck_assert_uint_eq(k->grid[0], 20);
	ck_assert_uint_eq(k->grid[2], 40);
	ck_assert_uint_eq(k->block[2], 70);
	ck_assert_uint_eq(k->dynamic_shared, 80);
}
END_TEST

/* Its first event may come before there is anything to wait for. */
START_TEST(no_kernel_begins_before_its_launch)
{
	const struct rec_kernel *k;

	launch("cuLaunchKernel", 0);
	launch("cudaDeviceSynchronize", 0);
	k = record(REC_KERNEL, 0);
	ck_assert_ptr_nonnull(k);
	ck_assert_uint_ge(k->g.r.begin,
			  ((const struct rec_call *)record(REC_CALL, 0))->r.begin);
	ck_assert_uint_ge(k->g.r.end, k->g.r.begin);
}
END_TEST

START_TEST(a_launch_that_failed_has_no_kernel)
{
	launch("cuLaunchKernel", 700);
	launch("cudaDeviceSynchronize", 0);
	ck_assert_ptr_null(record(REC_KERNEL, 0));
}
END_TEST

START_TEST(a_capture_is_left_alone_for_good)
{
	*(_i ? &asking_fails : &capturing) = 1; /* who cannot say so is taken for one */
	launch("cuLaunchKernel", 0);
	capturing = asking_fails = 0;
	for (unsigned i = 0; i < 2 * EVERY; i++)
		launch("cuLaunchKernel", 0);
	ck_assert_uint_eq(recorded, 0);
}
END_TEST

START_TEST(a_forked_child_asks_nothing)
{
	cuda_hooks_fork_child();
	cuda_hooks_want(CUDA_WANT_TIMES);
	for (unsigned i = 0; i < 2 * EVERY; i++)
		launch("cuLaunchKernel", 0);
	ck_assert_uint_eq(recorded + created, 0);
}
END_TEST

START_TEST(a_kernel_of_a_window_that_is_over_is_nobodys)
{
	launch("cuLaunchKernel", 0);
	call_window(2);
	launch("cudaDeviceSynchronize", 0);
	ck_assert_ptr_null(record(REC_KERNEL, 0));
	for (unsigned i = 0; i < EVERY; i++)
		launch("cuLaunchKernel", 0);
	launch("cudaDeviceSynchronize", 0);
	ck_assert_ptr_nonnull(record(REC_KERNEL, 0));
}
END_TEST

START_TEST(the_default_streams_are_not_asked_about)
{
	for (uint64_t stream = 0; stream <= 2; stream++) {
		stack[2] = stream;
		launch("cuLaunchKernel", 0);
	}
	stack[2] = 90;
	ck_assert_uint_eq(recorded, 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("estimate");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, one_launch_in_a_hundred_is_asked_about);
	tcase_add_test(tc, a_threads_way_of_capturing_is_given_back);
	tcase_add_test(tc, a_kernel_lies_where_its_events_came);
	tcase_add_test(tc, no_kernel_begins_before_its_launch);
	tcase_add_test(tc, a_launch_that_failed_has_no_kernel);
	tcase_add_loop_test(tc, a_capture_is_left_alone_for_good, 0, 2);
	tcase_add_test(tc, a_forked_child_asks_nothing);
	tcase_add_test(tc, a_kernel_of_a_window_that_is_over_is_nobodys);
	tcase_add_test(tc, the_default_streams_are_not_asked_about);
	return unit_run(tc, "estimate");
}
