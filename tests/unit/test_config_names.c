/* SPDX-License-Identifier: Apache-2.0 */
/* An option that has two names. */
#include "config/config.h"
#include "config/config_near.h"
#include "tests/unit/unit.h"

#include <string.h>

START_TEST(pythons_stacks_have_torchs_name_too)
{
	static const char *const names[] = { "python_stack", "python-stack", "with_stack",
					     "with-stack" };
	struct config mine;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		config_defaults(&mine);
		ck_assert_uint_eq(mine.python_stack, PYTHON_OFF);
		ck_assert_ptr_null(config_set(&mine, names[i], "true"));
		ck_assert_uint_eq(mine.python_stack, PYTHON_OPS);
		ck_assert_ptr_null(config_set(&mine, names[i], "off"));
		ck_assert_uint_eq(mine.python_stack, PYTHON_OFF);
		ck_assert_ptr_null(config_set(&mine, names[i], "ops"));
		ck_assert_uint_eq(mine.python_stack, PYTHON_OPS);
		ck_assert_str_eq(config_set(&mine, names[i], "all"),
				 "'all' is none of off|ops|full");
	}
	ck_assert_ptr_nonnull(
		strstr(config_unknown("with-stak", CONFIG_WORD), "--with-stack"));
}
END_TEST

START_TEST(flops_have_torchs_name_too)
{
	static const char *const names[] = { "flops", "with_flops", "with-flops" };
	struct config mine;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		config_defaults(&mine);
		ck_assert(!mine.flops && !config_wants_inputs(&mine));
		ck_assert_ptr_null(config_set(&mine, names[i], "on"));
		ck_assert(mine.flops && config_wants_inputs(&mine));
		ck_assert_uint_eq(mine.record_shapes, 0);
	}
	config_defaults(&mine);
	mine.record_shapes = 1;
	ck_assert(config_wants_inputs(&mine));
	ck_assert_ptr_nonnull(
		strstr(config_unknown("with-flop", CONFIG_WORD), "--with-flops"));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("names of options");

	tcase_add_test(tc, pythons_stacks_have_torchs_name_too);
	tcase_add_test(tc, flops_have_torchs_name_too);
	return unit_run(tc, "names of options");
}
