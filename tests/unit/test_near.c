/* SPDX-License-Identifier: Apache-2.0 */
#include "base/near.h"
#include "tests/unit/unit.h"

static const struct {
	const char *word, *candidates[3], *want;
} rows[] = {
	{ "doctr", { "recover", "doctor" }, "doctor" },
	{ "memroy", { "memory" }, "memory" },
	{ "recover", { "recover" }, "recover" },
	{ "hepl", { "help" }, "help" },
	{ "ls", { "doctor", "help" }, NULL },
	{ "sh", { "help" }, NULL },
	{ "python3", { "recover", "doctor", "memory" }, NULL },
	{ "RECORD-SHAPS", { "record_shapes" }, "record_shapes" },
	{ "aab", { "aaa", "aac" }, "aaa" }, /* as near as the other: the first */
	{ "malloc_stack", { "malloc", "malloc_stacks" }, "malloc_stacks" },
};

START_TEST(the_nearest_word_is_named)
{
	struct near near = near_begin(rows[_i].word);

	for (unsigned i = 0; i < 3 && rows[_i].candidates[i]; i++)
		near_try(&near, rows[_i].candidates[i]);
	ck_assert_pstr_eq(near.best, rows[_i].want);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("near");

	tcase_add_loop_test(tc, the_nearest_word_is_named, 0,
			    sizeof(rows) / sizeof(*rows));
	return unit_run(tc, "near");
}
