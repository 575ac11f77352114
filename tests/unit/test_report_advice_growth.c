/* SPDX-License-Identifier: Apache-2.0 */
/* When tensors grow with each step, and when they do not. */
#include "tests/unit/advice_trace.h"

/* What the CPU's allocator has at that moment. */
static void level(double ts, double bytes)
{
	fprintf(file,
		"{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\","
		"\"pid\":1,\"tid\":1,\"ts\":%.3f,\"args\":{\"Device Type\":0,"
		"\"Device Id\":-1,\"Addr\":1,\"Bytes\":8,\"Total Allocated\":%.0f}},\n",
		ts, bytes);
}

/* Each step keeps so many bytes more. */
static void with_growth(double bytes)
{
	begin_gpu(1000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		op("aten::mm", at(i, 0), 900);
		level(at(i, 500), 1000000 + (i + 1) * bytes);
	}
}

static const struct turn turn = { "memory-growth", with_growth, 65535, 65536 };

START_TEST(growth_turns_at_its_threshold)
{
	check_turn(&turn);
}
END_TEST

/* A step that ends with as much as the one before: it levelled off. */
START_TEST(memory_that_levels_off_is_not_told)
{
	begin_gpu(1000, 0);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		op("aten::mm", at(i, 0), 900);
		level(at(i, 500), 1000000 + (i < 3 ? i : 3) * 1e6);
	}
	advise();
	ck_assert_ptr_null(told("memory-growth"));
	advised_end();
}
END_TEST

/* Two rises are no trend: a cache fills, a second batch is larger. */
START_TEST(three_rises_tell)
{
	for (unsigned n = 2; n < 5; n++) {
		begin_gpu(1000, 0);
		steps_of(n);
		for (unsigned i = 0; i < n; i++) {
			op("aten::mm", at(i, 0), 900);
			level(at(i, 500), 1000000 + i * 1e6);
		}
		advise();
		ck_assert_int_eq(told("memory-growth") != NULL, n == 4);
		advised_end();
	}
}
END_TEST

/* The GPU is a step behind: the host's last step ends before the GPU's does, and what it
 * made in each counts for that one. */
START_TEST(host_that_is_ahead_is_judged_by_its_own_steps)
{
	begin_gpu(1000, 80);
	steps_of(STEPS);
	for (unsigned i = 0; i < STEPS; i++) {
		kernel("k", at(i, 1500), 990, 1400);
		level(at(i, 500), 1000000 + i * 1e6);
	}
	advise();
	ck_assert_ptr_nonnull(told("memory-growth"));
	ck_assert_ptr_nonnull(strstr(told("memory-growth")->seen, "976.6 KiB a step"));
	advised_end();
}
END_TEST

/* A step of the same operators and shapes that takes longer: the machine, whose advice
 * has no gain, and is told all the same. */
START_TEST(same_work_that_takes_longer_is_told)
{
	double begin = 1000;

	begin_gpu(1000, 0);
	for (unsigned i = 0; i < STEPS; i++) {
		double us = i == 3 ? 1400 : 1000;

		step(i, begin, us);
		slice(1, "cpu_op", "aten::mm", begin, us - 10, "\"Input Dims\":[[8,8]]");
		begin += us;
	}
	advise();
	ck_assert_ptr_nonnull(told("steps-vary"));
	ck_assert_str_eq(told("steps-vary")->title,
			 "The same operators take different times");
	ck_assert_int_eq(told("steps-vary")->gain, 0);
	advised_end();
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("growth");

	tcase_add_test(t, growth_turns_at_its_threshold);
	tcase_add_test(t, memory_that_levels_off_is_not_told);
	tcase_add_test(t, three_rises_tell);
	tcase_add_test(t, host_that_is_ahead_is_judged_by_its_own_steps);
	tcase_add_test(t, same_work_that_takes_longer_is_told);
	return unit_run(t, "report_advice_growth");
}
