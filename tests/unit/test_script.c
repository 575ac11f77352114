/* SPDX-License-Identifier: Apache-2.0 */
/* Which words of a command line name the program that an interpreter runs. */
#include "agent/core/script.h"
#include "tests/unit/unit.h"

#include <string.h>

#define LONG "/a/very/long/way/to/a/folder/with/a/name/that/nobody/types/by/hand/"

/* A line of words; what is found, without its quotes, NULL = nothing. */
static const struct {
	const char *line, *found;
} rows[] = {
	{ "python3 train.py --token secret", "train.py" },
	{ "python3.11 -u -O ./a/train.py", "./a/train.py" },
	{ "python -W ignore -X dev train.py", "train.py" },
	{ "python -Wignore -Xdev train.py", "train.py" },
	{ "python3 --check-hash-based-pycs always x.py", "x.py" },
	{ "pypy3 x.py", "x.py" },
	{ "python3 -m torch.distributed.run train.py", "-m torch.distributed.run" },
	{ "python3 -um pytest", "-m pytest" },
	{ "python3 -umpytest secret", "-m pytest" },
	{ "python3 -Wc -Xm x.py", "x.py" },
	{ "python3 -m", NULL },
	{ "python3 -c secret", NULL },
	{ "python3 -Ic secret word", NULL },
	{ "python3 - x", NULL },
	{ "python3", NULL },
	{ "python3 -V", NULL },
	{ "bash run.sh secret", "run.sh" },
	{ "sh -eu run.sh", "run.sh" },
	{ "bash -o pipefail +x run.sh", "run.sh" },
	{ "bash --norc --rcfile x run.sh", "run.sh" },
	{ "bash -eo pipefail run.sh", "run.sh" },
	{ "bash -ec secret word", NULL },
	{ "bash -oc pipefail secret", NULL },
	{ "bash -s secret", NULL },
	{ "bash -login run.sh secret", NULL },
	{ "bash -noprofile x secret", NULL },
	{ "bash -O extglob x.sh", "x.sh" },
	{ "bash -- x.sh secret", "x.sh" },
	{ "bash --unknown x.sh secret", NULL },
	{ "zsh -oextendedglob x secret", NULL },
	{ "zsh -O x.sh secret", NULL },
	{ "zsh -o extendedglob x.sh secret", "x.sh" },
	{ "python3 --password secret", NULL },
	{ "python3 +x.py secret", NULL },
	{ "python3 -z secret", NULL },
	{ "sh -es -- --token secret", NULL },
	{ "zsh -lc secret", NULL },
	{ "dash", NULL },
	{ "train x.py", NULL },
	{ "pythonx x.py", NULL },
	{ "python3-config x", NULL },
	{ "shred file", NULL },
	{ "python3 a\"b\\c\001.py", "a?b?c?.py" },
};

static bool find_in(char to[SCRIPT_MOST], const char *line)
{
	char words[512], *argv[16], *rest = NULL;
	int argc = 0;

	strcpy(words, line);
	for (char *word = strtok_r(words, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	argv[argc] = NULL;
	memset(to, 'x', SCRIPT_MOST);
	return script_find(to, argv[0], argc, argv);
}

START_TEST(scripts_are_named_and_nothing_behind_them)
{
	char got[SCRIPT_MOST], want[SCRIPT_MOST];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		bool found = find_in(got, rows[i].line);

		ck_assert_msg(found == !!rows[i].found, "%s", rows[i].line);
		if (!found)
			continue;
		snprintf(want, sizeof(want), "\"%s\"", rows[i].found);
		ck_assert_str_eq(got, want);
	}
}
END_TEST

/* The end of a path tells more than its beginning. */
START_TEST(a_long_name_loses_its_beginning)
{
	char got[SCRIPT_MOST];

	ck_assert(find_in(got, "python3 " LONG LONG LONG "end.py"));
	ck_assert_uint_eq(strlen(got), SCRIPT_MOST - 1);
	ck_assert_str_eq(got + SCRIPT_MOST - 1 - strlen("hand/end.py\""),
			 "hand/end.py\"");
	ck_assert(find_in(got, "python3 -m " LONG LONG LONG));
	ck_assert_uint_eq(strlen(got), SCRIPT_MOST - 1);
	ck_assert_int_eq(strncmp(got, "\"-m ", 4), 0);
	/* A letter of two bytes, whose first one has no room. */
	ck_assert(find_in(got, "python3 \303\244" LONG LONG "0123456789012345678.py"));
	ck_assert_int_eq(got[1], '/');
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("script");

	tcase_add_test(tc, scripts_are_named_and_nothing_behind_them);
	tcase_add_test(tc, a_long_name_loses_its_beginning);
	return unit_run(tc, "script");
}
