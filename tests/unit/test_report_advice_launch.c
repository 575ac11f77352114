/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about launches and waits: a trace on each side of each threshold. */
#include "tests/unit/advice_trace.h"

/* ---- launches ---- */

/* Kernels of `dur` us every `every`, in [0, 1000). */
static void fill_steps(double dur, double every, double lag)
{
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (double t = 20; t + dur < 1000; t += every)
			kernel("k", at(i, t), dur, lag);
}

static void with_gap(double gap)
{
	begin_gpu(1000, 80);
	fill_steps(4, 4 + gap, 3);
}

static void with_lag(double lag)
{
	begin_gpu(1000, 80);
	fill_steps(20, 40, lag);
}

static void with_busy(double dur)
{
	begin_gpu(1000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < 10; k++)
			kernel("k", at(i, 100 * k), dur, k ? 3 : -5);
}

/* So many of a hundred kernels begin at once. */
static void with_at_once(double n)
{
	begin_gpu(4000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < 100; k++)
			kernel("k", at(i, 40 + 39 * k), 15, k < n ? 3 : 15);
}

/* Busy for half of the time, the kernels queued; launches in so many tenths. */
static void with_tenths(double n)
{
	begin_gpu(1000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < n; k++) {
			kernel("k", at(i, 40 + 100 * k), 30, 30);
			kernel("k", at(i, 70 + 100 * k), 20, 50);
		}
}

static void with_host_busy(double dur)
{
	begin_gpu(1000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < 10; k++)
			kernel("k", at(i, 35 + 100 * k), dur, 30);
}

static void with_tiny(double dur)
{
	begin_gpu(1000, 80);
	fill_steps(dur, 20, 3);
}

static void with_tiny_share(double n)
{
	begin_gpu(1000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < n; k++)
			kernel("k", at(i, 10 + 9 * k), 5, 3);
}

/* So many of ten kernels are tiny; they are enough of the time. */
static void with_tiny_kernels(double n)
{
	begin_gpu(160, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < 10; k++)
			kernel("k", at(i, 5 + 15 * k), k < n ? 9.5 : 10, 3);
}

/* ---- waiting ---- */

/* Two waits a step, of so many us; the GPU idles for a long time behind each. */
static void with_wait(double us)
{
	begin_gpu(8000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < 2; k++) {
			kernel("k", at(i, 10 + 4000 * k), 1000, 3);
			call("cudaStreamSynchronize", at(i, 1012 + 4000 * k - us), us);
		}
}

static void with_waits(double n)
{
	begin_gpu(20000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < n; k++) {
			kernel("k", at(i, 10 + 5000 * k), 1000, 3);
			call("cudaDeviceSynchronize", at(i, 500 + 5000 * k), 512);
		}
}

static const struct turn turns[] = {
	{ "launch-bound", with_gap, 2, 2.5 },
	{ "launch-bound", with_lag, 10, 9.9 },
	{ "launch-bound", with_busy, 80, 79 },
	{ "launch-bound", with_at_once, 49, 50 },
	{ "tiny-kernels", with_tiny, 10, 9.9 },
	{ "tiny-kernels", with_tiny_share, 39, 40 },
	{ "tiny-kernels", with_tiny_kernels, 4, 5 },
	{ "host-bound", with_tenths, 7, 8 },
	{ "host-bound", with_host_busy, 60, 59 },
	{ "sync-point", with_wait, 50, 51 },
	{ "sync-point", with_waits, 1, 2 },
};

START_TEST(rule_turns_at_its_threshold)
{
	check_turn(&turns[_i]);
}
END_TEST

START_TEST(gain_of_waits_is_how_long_they_block)
{
	with_waits(2);
	advise();
	/* The GPU idles for longer, but the host would launch no more than 512 us earlier
	 * behind each. */
	ck_assert_int_eq(told("sync-point")->gain, 2 * 512000);
	advised_end();
}
END_TEST

START_TEST(gain_of_launches_is_the_idle_time_before_them)
{
	with_busy(40);
	advise();
	ck_assert_int_eq(told("launch-bound")->gain, 600000);
	ck_assert(!told("host-bound") && !told("gpu-idle"));
	advised_end();
}
END_TEST

/* Ten kernels a step that begin at once, 60 us apart, and so many waits. */
static void launch_and_wait(unsigned waits)
{
	begin_gpu(1000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < 10; k++) {
			kernel("k", at(i, 10 + 99 * k), 39, 3);
			if (k < waits)
				call("cudaStreamSynchronize", at(i, 11 + 99 * k), 40);
		}
	advise();
}

START_TEST(idle_time_is_told_once)
{
	launch_and_wait(9);
	/* 610 us idle in a step: the nine waits block for 40 us each, and the rest is the
	 * host's own. */
	ck_assert_int_eq(told("sync-point")->gain, 9 * 40000);
	ck_assert_int_eq(told("launch-bound")->gain, 250000);
	advised_end();
	launch_and_wait(1);
	ck_assert(!told("sync-point"));
	ck_assert_int_eq(told("launch-bound")->gain, 10 * 60000 + 10000);
	advised_end();
}
END_TEST

/* The host needs 40 us for what the GPU needs 80, and waits after each: only the waits
 * make the kernels late. */
START_TEST(fast_host_that_waits_is_no_launch)
{
	begin_gpu(1200, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < 10; k++) {
			kernel("k", at(i, 10 + 119 * k), 80, 3);
			call("cudaStreamSynchronize", at(i, 12 + 119 * k), 79);
		}
	advise();
	ck_assert(!told("launch-bound"));
	ck_assert_int_eq(told("sync-point")->gain, 400000);
	advised_end();
}
END_TEST

START_TEST(loading_before_a_launch_is_the_loaders)
{
	begin_gpu(1000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		note("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
		     at(i, 110), 380);
		for (unsigned k = 0; k < 3; k++)
			kernel("k", at(i, 10 + 490 * k), k ? 10 : 100, 3);
	}
	advise();
	ck_assert_int_eq(told("dataloader")->gain, 380000);
	ck_assert_int_eq(told("launch-bound")->gain, 500000);
	advised_end();
}
END_TEST

START_TEST(host_is_told_what_others_leave)
{
	/* 500 us idle in each step, 300 of them in the loader, or 100, but for calls. */
	for (unsigned k = 0; k < 2; k++) {
		with_host_busy(50);
		for (unsigned i = 0; i < STEPS; i++)
			for (unsigned t = 0; t < (k ? 2 : 6); t++)
				note("enumerate(DataLoader)#_SingleProcessDataLoaderIter."
				     "__next__",
				     at(i, 85 + 100 * t), 50);
		advise();
		ck_assert_int_eq(told("dataloader")->gain, k ? 98000 : 294000);
		ck_assert_int_eq(told("host-bound") ? told("host-bound")->gain : 0,
				 k ? 402000 : 0);
		advised_end();
	}
}
END_TEST

START_TEST(launches_all_over_one_step_are_no_rule)
{
	begin_gpu(1000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < 10; k++)
			kernel("k", at(i, 40 + (i == 1 ? 95 : 40) * k), 30, 30);
	advise();
	ck_assert(!told("host-bound"));
	advised_end();
}
END_TEST

START_TEST(long_gap_is_no_launch)
{
	begin_gpu(4000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		kernel("k", at(i, 10), 100, 3);
		kernel("k", at(i, 1109), 100, 3);
		kernel("k", at(i, 2211), 100, 3);
	}
	advise();
	/* 999 us count; 1002 us, and the time over the step's edge, do not. */
	ck_assert_int_eq(told("launch-bound")->gain, 999000);
	advised_end();
}
END_TEST

START_TEST(wait_of_another_thread_is_none)
{
	begin_gpu(20000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < 3; k++) {
			kernel("k", at(i, 10 + 5000 * k), 1000, 3);
			slice(2, "cuda_runtime", "cudaEventSynchronize",
			      at(i, 500 + 5000 * k), 512, "");
		}
	advise();
	ck_assert(!told("sync-point"));
	advised_end();
}
END_TEST

START_TEST(wait_that_ends_while_the_gpu_works_is_no_loss)
{
	begin_gpu(20000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		kernel("k", at(i, 10), 18000, 3);
		call("cudaEventSynchronize", at(i, 500), 512);
		call("cudaEventSynchronize", at(i, 5000), 512);
	}
	advise();
	ck_assert(!told("sync-point"));
	advised_end();
}
END_TEST

START_TEST(waits_that_cost_most_are_named)
{
	begin_gpu(20000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < 3; k++) {
			kernel("k", at(i, 10 + 5000 * k), k ? 1000 : 4900, 3);
			slice(1, "cpu_op", k ? "aten::item" : "aten::nonzero",
			      at(i, 500 + 5000 * k), 4420,
			      k ? "\"Call stack\":\"torch/_tensor.py(9): f;a.py(3): g;b.py(1): h\""
				: "");
			call("cudaStreamSynchronize", at(i, 505 + 5000 * k),
			     k ? 506 : 4410);
		}
	advise();
	ck_assert_str_eq(told("sync-point")->title,
			 "The program waits for the GPU 3 times a step");
	ck_assert_str_eq(told("sync-point")->where,
			 "aten::item, a.py(3): g (99 % of it)");
	advised_end();
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("advice");

	tcase_add_loop_test(t, rule_turns_at_its_threshold, 0,
			    (int)(sizeof(turns) / sizeof(*turns)));
	tcase_add_test(t, gain_of_waits_is_how_long_they_block);
	tcase_add_test(t, gain_of_launches_is_the_idle_time_before_them);
	tcase_add_test(t, idle_time_is_told_once);
	tcase_add_test(t, fast_host_that_waits_is_no_launch);
	tcase_add_test(t, loading_before_a_launch_is_the_loaders);
	tcase_add_test(t, host_is_told_what_others_leave);
	tcase_add_test(t, launches_all_over_one_step_are_no_rule);
	tcase_add_test(t, long_gap_is_no_launch);
	tcase_add_test(t, wait_of_another_thread_is_none);
	tcase_add_test(t, wait_that_ends_while_the_gpu_works_is_no_loss);
	tcase_add_test(t, waits_that_cost_most_are_named);
	return unit_run(t, "report_advice_launch");
}
