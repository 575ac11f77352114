/* SPDX-License-Identifier: Apache-2.0 */
/* What on_trace's command is given: words, or a text for a shell. */
#include "finisher/command_words.h"
#include "tests/unit/unit.h"

#include <string.h>

static struct command_words words;

static const char *joined(const char *command, const char *path)
{
	static char all[4096];
	size_t n = 0;

	all[0] = '\0';
	if (!command_words_make(&words, command, path))
		return NULL;
	for (char **w = words.argv; *w; w++)
		n += (size_t)snprintf(all + n, sizeof(all) - n, "[%s]", *w);
	return all;
}

START_TEST(plain_words_need_no_shell)
{
	ck_assert_str_eq(joined("gzip -9", "/a b"), "[gzip][-9][/a b]");
	ck_assert_str_eq(joined("  cp\t{} {}.bak  ", "/a'$x"), "[cp][/a'$x][/a'$x.bak]");
	ck_assert_str_eq(joined("a --to=x{}{} y", "/p"), "[a][--to=x/p/p][y]");
	ck_assert_ptr_null(joined("", "/p"));
	ck_assert_ptr_null(joined(" \t ", "/p"));
}
END_TEST

static const char *const shells[] = {
	"a; b",  "a | b", "a > b", "'a'",   "a $x",   "`a`",  "a*",
	"~/a",   "(a)",   "A=1 b", "a #b",  "a && b", "a\nb", "a {x}",
	"\"a\"", "a\\ b", "a ?",   "[ a ]", "! a",
};

START_TEST(what_a_shell_reads_is_the_shells)
{
	ck_assert_ptr_nonnull(strstr(joined(shells[_i], "/it's"), "[/bin/sh][-c]["));
	ck_assert_ptr_nonnull(strstr(joined(shells[_i], "/it's"), " '/it'\\''s']"));
}
END_TEST

START_TEST(each_brace_is_the_path)
{
	ck_assert_str_eq(joined("a {}; b {}", "/p q"),
			 "[/bin/sh][-c][a '/p q'; b '/p q']");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("command_words");

	tcase_add_test(tc, plain_words_need_no_shell);
	tcase_add_loop_test(tc, what_a_shell_reads_is_the_shells, 0,
			    sizeof(shells) / sizeof(*shells));
	tcase_add_test(tc, each_brace_is_the_path);
	return unit_run(tc, "command_words");
}
