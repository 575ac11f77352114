/* SPDX-License-Identifier: Apache-2.0 */
/* Which blocks of the host's memory are allocated for nothing, and what they cost. */
#include "tests/unit/advice_trace.h"

#define LARGE (2L << 20)

/* A block that lives for more than a step, or that an operator allocates on its way. */
START_TEST(churn_is_what_a_step_allocates_for_nothing)
{
	for (unsigned k = 0; k < 3; k++) {
		begin_gpu(1000, 0);
		steps_of(STEPS + 2);
		for (unsigned i = 0; i < STEPS; i++) {
			op(k == 1 ? "aten::mm" : "aten::empty", at(i, 0), 40);
			memory(at(i, 10), 77 + i, LARGE);
			memory(at(k == 2 ? i + 2 : i, 500), 77 + i, -LARGE);
		}
		advise();
		ck_assert_int_eq(told("malloc-churn") != NULL, k == 0);
		advised_end();
	}
}
END_TEST

/* Blocks that the C library maps anew each time: 40 MiB cost 4 ms, wherever that is, and
 * the gap behind a free is the system's. */
START_TEST(mapped_blocks_cost_their_pages_and_their_frees)
{
	for (unsigned k = 0; k < 2; k++) {
		begin_gpu(40000, 0);
		steps_of(STEPS + 1);
		for (unsigned i = 0; i < STEPS + 1; i++) {
			op("aten::add", at(i, 0), 30000);
			memory(at(i, 10), 77, k ? 40L << 20 : 31L << 20);
			memory(at(i, 30000), 77, k ? -(40L << 20) : -(31L << 20));
			op("aten::mm", at(i, 32000), 8000);
		}
		advise();
		ck_assert_int_eq(told("malloc-churn") ? told("malloc-churn")->gain : 0,
				 k ? 6000000 : 0);
		advised_end();
	}
}
END_TEST

/* Pages that nobody touches cost nothing: the estimate is never more than the step. */
START_TEST(estimate_ends_at_the_step)
{
	begin_gpu(1000, 0);
	steps_of(STEPS + 1);
	for (unsigned i = 0; i < STEPS + 1; i++) {
		op("aten::empty", at(i, 0), 40);
		memory(at(i, 10), 77, 400L << 20);
		memory(at(i, 500), 77, -(400L << 20));
	}
	advise();
	ck_assert_int_eq(told("malloc-churn")->gain, 1000000);
	ck_assert_ptr_nonnull(strstr(told("malloc-churn")->seen, "steps (100 %)"));
	advised_end();
}
END_TEST

/* A loop's variable is freed when the next step assigns it. */
START_TEST(block_of_a_loops_variable_is_churn)
{
	begin_gpu(1000, 0);
	steps_of(STEPS + 1);
	for (unsigned i = 0; i < STEPS; i++) {
		op("aten::empty", at(i, 0), 40);
		memory(at(i, 10), 77 + i, LARGE);
		memory(at(i + 1, 30), 77 + i, -LARGE);
	}
	advise();
	ck_assert_ptr_nonnull(told("malloc-churn"));
	advised_end();
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("churn");

	tcase_add_test(t, churn_is_what_a_step_allocates_for_nothing);
	tcase_add_test(t, mapped_blocks_cost_their_pages_and_their_frees);
	tcase_add_test(t, estimate_ends_at_the_step);
	tcase_add_test(t, block_of_a_loops_variable_is_churn);
	return unit_run(t, "report_advice_churn");
}
