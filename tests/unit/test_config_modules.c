/* SPDX-License-Identifier: Apache-2.0 */
/* c_calls: names of modules, what stands for some, and what is no name. */
#include "config/c_modules.h"
#include "launcher/args.h"
#include "tests/unit/unit.h"

static const struct {
	const char *value, *modules;
	bool all;
} values[] = {
	{ "", "", false },
	{ "on", "numpy", false },
	{ "off", "", false },
	{ "true", "numpy", false },
	{ "no", "", false },
	{ "all", "all,numpy", true },
	{ "all,scipy", "all,scipy", true },
	{ "scipy,all", "scipy,all", true },
	{ "scipy.special,numpy", "scipy.special,numpy", false },
	{ "allen,call,al", "allen,call,al", false },
};

START_TEST(names_and_what_stands_for_some)
{
	static struct config c;

	config_check = NULL;
	config_defaults(&c);
	ck_assert_ptr_null(config_set(&c, "c-calls", values[_i].value));
	ck_assert_pstr_eq(c_modules_of(&c), values[_i].modules);
	ck_assert_int_eq(c_modules_have_all(&c), values[_i].all);
}
END_TEST

START_TEST(what_is_no_name_is_refused)
{
	static const char *const good[] = { "",    "numpy",     "_a.b9,C",
					    "all", "a,b,c.d.e", "\xc3\xa9t\xc3\xa9" };
	static const char *const wrong[] = { "num-py", "a,",      ",a", "a,,b",
					     "a.",     ".a",      "1",  "a.1",
					     "a b",    "numpy/x", "a;b" };

	for (unsigned i = 0; i < sizeof(good) / sizeof(*good); i++)
		ck_assert_ptr_null(c_modules_check(good[i]));
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		ck_assert_ptr_nonnull(c_modules_check(wrong[i]));
}
END_TEST

/* The word behind it is the command, as its value could be any word. */
START_TEST(its_value_stands_behind_a_sign)
{
	static char *const lines[][6] = {
		{ "proflaunch", "--c-calls", "python3", "a.py" },
		{ "proflaunch", "--c-calls=scipy", "python3", "a.py" },
		{ "proflaunch", "--no-c-calls", "python3", "a.py" },
	};
	static const char *const want[] = { "numpy", "scipy", "" };
	static char *none[1];
	static struct args a;

	for (unsigned i = 0; i < 3; i++) {
		char *argv[6];

		memcpy(argv, lines[i], sizeof(argv));
		ck_assert_int_eq(args_parse(&a, argv, none), 0);
		ck_assert_pstr_eq(c_modules_of(&a.config), want[i]);
		ck_assert_pstr_eq(a.command[0], "python3");
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("config modules");

	tcase_add_loop_test(tc, names_and_what_stands_for_some, 0,
			    sizeof(values) / sizeof(*values));
	tcase_add_test(tc, what_is_no_name_is_refused);
	tcase_add_test(tc, its_value_stands_behind_a_sign);
	return unit_run(tc, "config modules");
}
