/* SPDX-License-Identifier: Apache-2.0 */
/* native_stacks: any of its choices; and the two options that it has taken the place of.
 */
#include "config/config_file.h"
#include "launcher/args.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define OPS    (1u << NATIVE_OPS)
#define CUDA   (1u << NATIVE_CUDA)
#define MALLOC (1u << NATIVE_MALLOC)

static struct config c;

static const struct {
	const char *text, *printed;
	uint32_t bits;
} values[] = {
	{ "off", "off", 0 },
	{ "0", "off", 0 },
	{ "on", "ops,cuda,malloc", OPS | CUDA | MALLOC },
	{ "TRUE", "ops,cuda,malloc", OPS | CUDA | MALLOC },
	{ "all", "ops,cuda,malloc", OPS | CUDA | MALLOC },
	{ "ops", "ops", OPS },
	{ "cuda", "cuda", CUDA },
	{ "malloc,ops", "ops,malloc", OPS | MALLOC },
	{ " cuda , ops,cuda ", "ops,cuda", OPS | CUDA },
	{ "\"ops, malloc\"", "ops,malloc", OPS | MALLOC },
};

START_TEST(any_of_them)
{
	const struct config_option *o = config_find("native-stacks");
	char text[64];

	config_defaults(&c);
	ck_assert_uint_eq(c.native_stacks, MALLOC);
	ck_assert_ptr_null(config_set(&c, "native_stacks", values[_i].text));
	ck_assert_uint_eq(c.native_stacks, values[_i].bits);
	ck_assert_uint_eq(config_value(&c, o, text, sizeof(text)),
			  strlen(values[_i].printed));
	ck_assert_str_eq(text, values[_i].printed);
	config_defaults(&c);
	ck_assert_ptr_null(config_set(&c, "native_stacks", text));
	ck_assert_uint_eq(c.native_stacks, values[_i].bits);
	ck_assert_uint_eq(config_value(&c, o, text, 3), strlen(values[_i].printed));
	ck_assert_uint_lt(strlen(text), 3);
}
END_TEST

static const struct {
	const char *text, *why;
} wrong[] = {
	{ "gpu", "'gpu' is none of off|on|ops|cuda|malloc" },
	{ "ops,gpu ,cuda", "'gpu' is none of ops|cuda|malloc" },
	{ "ops,", "'' is none of ops|cuda|malloc" },
	{ ",", "'' is none of ops|cuda|malloc" },
	{ "ops cuda", "'ops cuda' is none of off|on|ops|cuda|malloc" },
	{ "ops,off", "'off' is none of ops|cuda|malloc" },
	{ "ops,all", "'all' is none of ops|cuda|malloc" },
	{ "op", "'op' is none of off|on|ops|cuda|malloc" },
	{ "opss", "'opss' is none of off|on|ops|cuda|malloc" },
	{ "", "the value is empty" },
};

START_TEST(what_is_none_of_them_is_named)
{
	config_defaults(&c);
	ck_assert_pstr_eq(config_set(&c, "native_stacks", wrong[_i].text), wrong[_i].why);
	ck_assert_uint_eq(c.native_stacks, MALLOC);
}
END_TEST

/* Each is its own bit, in the order in which they are read. */
START_TEST(names_of_old_are_bits)
{
	config_defaults(&c);
	ck_assert_ptr_null(config_set(&c, "cuda_stacks", "native"));
	ck_assert_uint_eq(c.native_stacks, CUDA | MALLOC);
	ck_assert_ptr_null(config_set(&c, "malloc-stacks", "No"));
	ck_assert_uint_eq(c.native_stacks, CUDA);
	ck_assert_ptr_null(config_set(&c, "native_stacks", "ops"));
	ck_assert_ptr_null(config_set(&c, "malloc_stacks", "1"));
	ck_assert_uint_eq(c.native_stacks, OPS | MALLOC);
	ck_assert_ptr_null(config_set(&c, "cuda-stacks", "off"));
	ck_assert_uint_eq(c.native_stacks, OPS | MALLOC);
	ck_assert_str_eq(config_set(&c, "cuda_stacks", "on"),
			 "'on' is none of off|native");
	ck_assert_str_eq(config_set(&c, "cuda_stacks", "natives"),
			 "'natives' is none of off|native");
	ck_assert_str_eq(config_set(&c, "malloc_stacks", "native"),
			 "'native' is neither on nor off");
	ck_assert_str_eq(config_set(&c, "malloc_stacks", ""), "the value is empty");
	ck_assert_uint_eq(c.native_stacks, OPS | MALLOC);
}
END_TEST

START_TEST(nobody_is_shown_a_name_of_old)
{
	char text[8192];

	config_defaults(&c);
	config_print(&c, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "native_stacks = malloc\n"));
	ck_assert_ptr_null(strstr(text, "cuda_stacks"));
	ck_assert_ptr_null(strstr(text, "malloc_stacks"));
	ck_assert_ptr_eq(config_find("cuda_stacks"), config_find("native_stacks"));
	ck_assert_ptr_eq(config_find("malloc-stacks"), config_find("native_stacks"));
	ck_assert_ptr_null(config_find("malloc_stack"));
}
END_TEST

/* A file as an older version has printed it. */
START_TEST(lines_of_an_older_version)
{
	char text[] = "cuda_stacks = native\nquiet = on\nmalloc_stacks = off\n";

	config_lines(&c, text);
	ck_assert_uint_eq(c.native_stacks, CUDA);
	ck_assert_uint_eq(c.quiet, 1);
}
END_TEST

/* ---- the environment and the command line ---- */

static unsigned complaints;

static void complain(const char *where, const char *why, void *arg)
{
	(void)where;
	(void)why;
	(void)arg;
	complaints++;
}

START_TEST(rows_of_the_environment)
{
	char *env[] = { "PROF_NATIVE_STACKS=ops", "PROF_CUDA_STACKS=native",
			"PROF_MALLOC_STACKS=", NULL };

	config_defaults(&c);
	config_env(&c, env, complain, NULL);
	ck_assert_uint_eq(c.native_stacks, OPS | CUDA);
	ck_assert_uint_eq(complaints, 0);
	env[2] = "PROF_MALLOC_STACKS=maybe";
	config_env(&c, env, complain, NULL);
	ck_assert_uint_eq(complaints, 1);
}
END_TEST

static const struct {
	const char *words;
	uint32_t bits;
	const char *command;
} lines[] = {
	{ "--native-stacks|x", OPS | CUDA | MALLOC, "x" },
	{ "--native-stacks|--|x", OPS | CUDA | MALLOC, "x" },
	{ "--native-stacks|ops,cuda|x", OPS | CUDA, "x" },
	{ "--native_stacks=off|x", 0, "x" },
	{ "--native-stacks|off|x", 0, "x" },
	{ "--native-stacks|ops.py", OPS | CUDA | MALLOC, "ops.py" },
	{ "--cuda-stacks|native|x", CUDA | MALLOC, "x" },
	{ "--cuda_stacks=native|--native-stacks=ops|x", OPS, "x" },
	{ "--native-stacks=ops|--cuda-stacks=native|x", OPS | CUDA, "x" },
	{ "--malloc-stacks|off|x", 0, "x" },
	{ "--malloc-stacks|x", MALLOC, "x" },
	{ "--no-malloc-stacks|x", 0, "x" },
	{ "--no-native-stacks|x", 0, "x" },
	{ "--no-native_stacks|off", 0, "off" },
	{ "--native-stacks|--no-cuda-stacks|x", OPS | MALLOC, "x" },
	{ "--no-malloc-stacks|--native-stacks|x", OPS | CUDA | MALLOC, "x" },
	{ "--native-stacks|--no-malloc-stacks|x", OPS | CUDA, "x" },
};

START_TEST(words_of_the_command_line)
{
	static char text[128], name[] = "proflaunch", *argv[8] = { name }, *none[1];
	static struct args a;
	int n = 1;

	strcpy(text, lines[_i].words);
	for (char *p = strtok(text, "|"); p; p = strtok(NULL, "|"))
		argv[n++] = p;
	args_parse(&a, argv, none);
	ck_assert_uint_eq(a.config.native_stacks, lines[_i].bits);
	ck_assert_pstr_eq(a.command[0], lines[_i].command);
}
END_TEST

#define N(rows) (sizeof(rows) / sizeof(*(rows)))

int main(void)
{
	TCase *tc = tcase_create("several");

	tcase_add_loop_test(tc, any_of_them, 0, N(values));
	tcase_add_loop_test(tc, what_is_none_of_them_is_named, 0, N(wrong));
	tcase_add_test(tc, names_of_old_are_bits);
	tcase_add_test(tc, nobody_is_shown_a_name_of_old);
	tcase_add_test(tc, lines_of_an_older_version);
	tcase_add_test(tc, rows_of_the_environment);
	tcase_add_loop_test(tc, words_of_the_command_line, 0, N(lines));
	return unit_run(tc, "several");
}
