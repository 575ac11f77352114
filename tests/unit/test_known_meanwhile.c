/* SPDX-License-Identifier: Apache-2.0 */
/* What was recorded until torch is met is not written at once. */
#include "tests/unit/known_folder.h"
#include "tests/unit/unit.h"

#include <unistd.h>

/* Of a shell that has ended: until torch is met, somebody waits, or time is up. */
START_TEST(what_was_recorded_meanwhile_is_kept_back)
{
	const int64_t look = 10000000000;
	int fd;

	atomic_store(&image->head->meanwhile, 1);
	fd = put_spool(4000001, 7, "");
	known_find(&all);
	known_judge(&all, look, false);
	ck_assert_int_eq(all.at[0]->state, KNOWN_DEAD);
	ck_assert(all.at[0]->meanwhile);
	known_judge(&all, look + 9000000000, false);
	ck_assert(all.at[0]->meanwhile);
	ck_assert_uint_eq(all.kept_back, 1);
	if (_i == 0)
		atomic_store(&job->told, JOB_TOLD_TORCH);
	known_judge(&all, look + (_i == 2 ? 10000000000 : 9000000001), _i == 1);
	ck_assert(!all.at[0]->meanwhile);
	ck_assert_uint_eq(all.kept_back, 0);
	close(fd);
}
END_TEST

START_TEST(not_more_than_a_few_are_kept_back)
{
	unsigned back = 0;

	atomic_store(&image->head->meanwhile, 1);
	for (unsigned i = 0; i < 100; i++)
		close(put_spool(4000001 + i, 7, ""));
	known_find(&all);
	known_judge(&all, 10000000000, false);
	for (unsigned i = 0; i < 100; i++)
		back += all.at[i]->meanwhile;
	ck_assert_uint_eq(back, 64);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("known meanwhile");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_loop_test(tc, what_was_recorded_meanwhile_is_kept_back, 0, 3);
	tcase_add_test(tc, not_more_than_a_few_are_kept_back);
	return unit_run(tc, "known meanwhile");
}
