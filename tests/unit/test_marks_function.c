/* SPDX-License-Identifier: Apache-2.0 */
/* A function of Python's that ends steps. */
#include "tests/unit/sched_bench.h"

START_TEST(only_the_outermost_call_of_a_function_counts)
{
	uint32_t outer, inner;

	start("active=9", "python:train.step");
	ck_assert_str_eq(sched_function(0), "train.step");
	for (unsigned i = 0; i < 3; i++) {
		outer = sched_function_begin(0);
		inner = sched_function_begin(0);
		ck_assert(outer && !inner);
		ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), i);
		sched_end(inner);
		sched_end(outer);
	}
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 3);
	ck_assert_uint_eq(atomic_load(&spool.head->sched.marker_hits), 3);
}
END_TEST

START_TEST(a_function_may_end_steps_as_it_begins)
{
	start("active=9", "python:step@begin");
	sched_end(sched_function_begin(0));
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 1);
	start("active=9", "torch:step");
	ck_assert_ptr_null(sched_function(0));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("marks_function");

	tcase_add_test(tc, only_the_outermost_call_of_a_function_counts);
	tcase_add_test(tc, a_function_may_end_steps_as_it_begins);
	return unit_run(tc, "marks_function");
}
