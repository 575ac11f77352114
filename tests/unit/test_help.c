/* SPDX-License-Identifier: Apache-2.0 */
/* --help and --print-config: each option once, as it is spelled, on lines of a terminal.
 */
#include "launcher/help.h"
#include "tests/unit/printed.h"

#define COLUMN 30
#define WIDTH  88

static const char *help(void)
{
	printed_begin();
	help_print();
	return printed();
}

static size_t line_length(const char *line)
{
	return strcspn(line, "\n");
}

/* The option's text in one line, "  --name unit text"; its lines are each well. */
static void option_text(const char *from, char *text)
{
	const char *line = from;
	size_t at = 0, last = 0;

	for (bool first = true; first || !strncmp(line, "          ", 10);
	     first = false) {
		size_t len = line_length(line), blanks = strspn(line, " "), word;

		word = strcspn(line + blanks, " \n");
		/* A word of 60 letters is not broken. */
		if (blanks + word < len)
			ck_assert_msg(len <= WIDTH, "too long: %.*s", (int)len, line);
		ck_assert_msg(first || blanks == COLUMN, "%.*s", (int)len, line);
		/* What is broken did not fit. */
		if (last > COLUMN)
			ck_assert_uint_gt(last + 1 + word, WIDTH);
		last = first && line[COLUMN - 1] != ' ' ? 0 : len;
		if (!first)
			text[at++] = ' ';
		memcpy(text + at, line + (first ? 0 : blanks),
		       len - (first ? 0 : blanks));
		at += len - (first ? 0 : blanks);
		while (first && at && text[at - 1] == ' ')
			at--;
		line += len + 1;
	}
	text[at] = '\0';
}

static const char *takes(const struct config_option *o)
{
	static char any[sizeof(o->values)];

	strcpy(any, o->values);
	for (char *p = any; *p; p++)
		if (*p == '|')
			*p = ',';
	return o->type == CFG_set    ? any
	       : *o->values          ? o->values
	       : o->type == CFG_flag ? "on|off"
				     : o->unit;
}

START_TEST(each_option_is_told_as_it_is_typed)
{
	const char *all = help();
	char spelled[128], text[2048], want[1024];

	for (const struct config_option *o = config_options; *o->name; o++) {
		/* Brackets: it may stand alone. */
		size_t n = (size_t)snprintf(spelled, sizeof(spelled),
					    config_is_switch(o) ? "\n  --%s [%s]"
								: "\n  --%s %s",
					    o->name, takes(o));
		const char *at;

		for (char *p = spelled + 5; *p != ' '; p++)
			if (*p == '_')
				*p = '-';
		at = strstr(all, spelled);
		ck_assert_msg(at && (at[n] == ' ' || at[n] == '\n'), "no %s in:\n%s",
			      spelled, all);
		option_text(at + 1, text);
		snprintf(want, sizeof(want), *o->def ? "%s (default %s)" : "%s",
			 config_help(o), o->def);
		ck_assert_msg(strstr(text, want), "%s\nis not in\n%s", want, text);
		ck_assert_uint_eq(strlen(strstr(text, want)), strlen(want));
	}
	ck_assert_ptr_null(strstr(all, "(default )"));
}
END_TEST

/* A word is told before an option uses it. */
START_TEST(words_come_before_options)
{
	static const char *const words[] = { "A step is ", " its marker\nis ",
					     " are a window", "A call stack is " };
	const char *all = help(), *options = strstr(all, "\n  --");

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const char *at = strstr(all, words[i]);

		ck_assert_msg(at && at < options, "no '%s' in:\n%s", words[i], all);
	}
}
END_TEST

START_TEST(no_line_is_longer_than_a_terminal)
{
	static void (*const prints[])(void) = { help_print, help_print_config };

	printed_begin();
	prints[_i]();
	for (const char *line = printed(); *line; line += line_length(line) + 1)
		if (strncmp(line, "memory ", 7) && strncmp(line, "          ", 10))
			ck_assert_msg(line_length(line) <= WIDTH, "%.*s",
				      (int)line_length(line), line);
}
END_TEST

/* What --print-config prints, without the signs of a comment, is what there is without.
 */
START_TEST(the_file_with_all_defaults_changes_nothing)
{
	static struct config c, defaults;
	char *line, *rest, name[64];
	unsigned options = 0;

	memset(&c, 0xff, sizeof(c));
	*c.metadata = *c.stages = '\0';
	config_defaults(&defaults);
	strcpy(c.config, defaults.config);
	printed_begin();
	help_print_config();
	ck_assert_ptr_null(strstr(printed(), "\n#config ="));
	for (rest = printed_text; (line = strsep(&rest, "\n"));) {
		ck_assert_msg(!*line || *line == '#', "'%s' is no comment", line);
		ck_assert_msg(!*line || line[strlen(line) - 1] != ' ', "'%s': a blank",
			      line);
		if (sscanf(line, "#%60[a-z_] =", name) != 1 || !strchr(line, '=') ||
		    !strcmp(name, "metadata"))
			continue;
		ck_assert_ptr_null(config_line(&c, line + 1));
		options++;
	}
	for (const struct config_option *o = config_options; *o->name; o++) {
		char is[CONFIG_TEXT], was[CONFIG_TEXT];

		config_value(&c, o, is, sizeof(is));
		config_value(&defaults, o, was, sizeof(was));
		ck_assert_msg(!strcmp(is, was), "%s: %s, not %s", o->name, is, was);
		options -= strcmp(o->name, "config") != 0;
	}
	ck_assert_uint_eq(options, 0);
}
END_TEST

START_TEST(the_file_says_what_may_be_put_in)
{
	char *text;

	printed_begin();
	help_print_config();
	text = printed();
	ck_assert_ptr_nonnull(strstr(
		text, "\n# A number from 4 to 65536 (MiB).\n#cuda_buffer_mb = 64\n"));
	ck_assert_ptr_nonnull(strstr(
		text, "\n# A number from 1 to 512 (frames).\n#stack_depth = 128\n"));
	ck_assert_ptr_nonnull(strstr(text, "\n# One of: off|on|each\n#children = on\n"));
	ck_assert_ptr_nonnull(strstr(text, "\n# on or off\n#linger = on\n"));
	ck_assert_ptr_nonnull(strstr(
		text,
		"\n# Say nothing but warnings; --quiet off makes ranks above 0 speak, too.\n"));
	ck_assert_ptr_nonnull(strstr(text, "\n#on_trace =\n"));
	for (const char *p = text; (p = strstr(p, "\n# ")); p++)
		ck_assert_msg(p[3] != ' ', "%.40s", p);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("help");

	tcase_add_test(tc, each_option_is_told_as_it_is_typed);
	tcase_add_test(tc, words_come_before_options);
	tcase_add_loop_test(tc, no_line_is_longer_than_a_terminal, 0, 2);
	tcase_add_test(tc, the_file_with_all_defaults_changes_nothing);
	tcase_add_test(tc, the_file_says_what_may_be_put_in);
	return unit_run(tc, "help");
}
