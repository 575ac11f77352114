/* SPDX-License-Identifier: Apache-2.0 */
/* Annotations that might have been meant as the end of a step. */
#include "tests/unit/said.h"
#include "tests/unit/sched_bench.h"

/* For the closing words: what might have been meant, until a step has ended. */
START_TEST(names_are_noted_as_long_as_no_step_ends)
{
	start("active=9", "auto");
	event();
	for (unsigned i = 0; i < 3; i++)
		annotation("train");
	ck_assert_str_eq(tally_rank(&spool.head->seen, 0)->name, "train");
	ck_assert_uint_eq(tally_rank(&spool.head->seen, 0)->n, 3);
	iteration();
	iteration();
	annotation("train");
	ck_assert_uint_eq(tally_rank(&spool.head->seen, 0)->n, 3);
}
END_TEST

START_TEST(what_was_seen_is_told)
{
	start("", "torch:mine");
	log_quiet = false;
	event();
	annotation("train");
	annotation(STEP);
	annotation(STEP);
	said_start();
	sched_exit();
	ck_assert_ptr_nonnull(strstr(
		said(),
		"the marker torch:mine never matched, so the whole run was kept as one step. "
		"Seen: " STEP
		" 2×, train 1×; name what ends a step with --marker torch:"));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("seen");

	tcase_add_test(tc, names_are_noted_as_long_as_no_step_ends);
	tcase_add_test(tc, what_was_seen_is_told);
	return unit_run(tc, "seen");
}
