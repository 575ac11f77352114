/* SPDX-License-Identifier: Apache-2.0 */
/* Text in a manual page means itself. */
#include "launcher/args.h"
#include "launcher/man.c"
#include "tests/unit/printed.h"

START_TEST(what_roff_would_take_for_its_own)
{
	printed_begin();
	roff_text(".a.b\n.c\n'd'\n\\e-f");
	ck_assert_str_eq(printed(), "\\&.a.b\n\\&.c\n\\&'d'\n\\ee\\-f");
}
END_TEST

/* The page as it is printed now; it stays until the next. */
static const char *page_of(const char *name)
{
	printed_begin();
	ck_assert_int_eq(man_print(name), 0);
	return printed();
}

static bool has_row(const char *row, const char *first)
{
	char text[512];

	snprintf(text, sizeof(text), "\n.TP\n%s\n%c", row,
		 toupper((unsigned char)*first));
	return strstr(printed_text, text);
}

START_TEST(every_page_that_is_named_and_no_other)
{
	char names[] = HELP_PAGES(", "), head[128], *name, *rest = names;
	unsigned n = 0;

	ck_assert_int_eq(man_print(NULL), 2);
	ck_assert_int_eq(man_print("proflaunch.2"), 2);
	for (; (name = strsep(&rest, ", ")); n += *name != '\0') {
		const char *dot = strrchr(name, '.');

		if (!*name)
			continue;
		*head = '\0';
		for (const char *p = name; p < dot; p++)
			snprintf(head + strlen(head), sizeof(head) - strlen(head),
				 *p == '-' ? "\\-" : "%c", *p);
		ck_assert_ptr_nonnull(strstr(page_of(name), head));
		ck_assert_ptr_nonnull(strstr(printed_text, "\n.SH EXAMPLES\n"));
		ck_assert_ptr_nonnull(strstr(printed_text, "\n.SH SEE ALSO\n"));
	}
	ck_assert_uint_eq(n, sizeof(pages) / sizeof(*pages));
}
END_TEST

START_TEST(the_file_does_not_say_where_it_is)
{
	page_of("profile.conf.5");
	ck_assert_ptr_nonnull(strstr(printed_text, ".TP\n\\fBlogdir\\fR = "));
	ck_assert_ptr_null(strstr(printed_text, ".TP\n\\fBconfig\\fR"));
}
END_TEST

/* A word is there before it is used. */
START_TEST(terms_come_before_options)
{
	static const char *const words[] = { "step", "marker", "window", "schedule",
					     "call stack" };
	const char *text = page_of("proflaunch.1"), *from = strstr(text, ".SH TERMS\n");
	char row[64];

	ck_assert_ptr_nonnull(from);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		snprintf(row, sizeof(row), ".TP\n\\fB%s\\fR", words[i]);
		ck_assert_msg(strstr(from, row), "no %s", words[i]);
		ck_assert(strstr(from, row) < strstr(text, ".SH OPTIONS\n"));
	}
	ck_assert_ptr_nonnull(strstr(from, "stack_depth"));
}
END_TEST

/* Not "the option --logdir", but what it does, in which numbers, and the default. */
START_TEST(each_variable_says_what_it_does)
{
	const char *text = page_of("proflaunch.1"),
		   *here = strstr(text, ".SH ENVIRONMENT\n"),
		   *end = strstr(text, ".SH FILES\n");
	char name[64], want[128];

	for (const struct config_option *o = config_options; *o->name; o++) {
		const char *row, *next;

		snprintf(name, sizeof(name), "\n\\fBPROF_%s\\fR=", o->name);
		for (char *p = name + 9; *p != '\\'; p++)
			*p = (char)toupper((unsigned char)*p);
		row = strstr(here, name);
		ck_assert_msg(row && row < end, "no %s", name + 1);
		next = strstr(row, "\n.TP\n");
		row = strchr(row + 1, '\n') + 1;
		ck_assert_int_eq(*row, toupper((unsigned char)*config_help(o)));
		/* Up to what roff writes otherwise. */
		snprintf(want, sizeof(want), "%.*s",
			 (int)strcspn(config_help(o) + 1, "-,\\"), config_help(o) + 1);
		ck_assert_msg(!strncmp(row + 1, want, strlen(want)), "%.99s", row);
		if (o->type == CFG_u32)
			snprintf(want, sizeof(want), "A number from %u to %u.\n", o->low,
				 o->high);
		if (o->type == CFG_u32)
			ck_assert(strstr(row, want) && strstr(row, want) < next);
		if (*o->def)
			ck_assert(strstr(row, "\nDefault: ") &&
				  strstr(row, "\nDefault: ") < next);
	}
}
END_TEST

START_TEST(the_rows_of_a_subcommand_are_its_parsers)
{
	page_of("proflaunch-memory.1");
	ck_assert(has_row("\\fB\\-\\-max\\-growth\\fR \\fIBYTES\\fR", "growth"));
	ck_assert(has_row("\\fB\\-\\-json\\fR", "all"));
	ck_assert_ptr_nonnull(
		strstr(printed_text, "\n.TP\n\\fBgradients\\fR\nAllocated "));
	page_of("proflaunch-report.1");
	ck_assert(has_row("\\fB\\-\\-group\\-by\\fR \\fIWHAT\\fR", "operators"));
	ck_assert(has_row("\\fB\\-\\-like\\-torch\\fR", "with"));
	page_of("proflaunch-export.1");
	ck_assert(has_row("\\fB\\-\\-by\\fR \\fIWHAT\\fR", "self"));
	ck_assert(has_row("\\fB\\-\\-folded\\fR", "a line"));
	page_of("proflaunch-recover.1");
	ck_assert(has_row("\\fB\\-\\-output\\fR \\fIDIRECTORY\\fR", "trace"));
	ck_assert(has_row("\\fB\\-\\-spool\\fR \\fB\\fIdirectory\\fR", "where"));
}
END_TEST

/* What the page of recover names is taken from the command line. */
START_TEST(recover_takes_what_its_page_names)
{
	static struct args a;
	char *none[] = { NULL };

#define OPTION(name, value, text)                                                    \
	{                                                                            \
		char *argv[] = { (char[]){ "proflaunch" }, (char[]){ "recover" },    \
				 (char[]){ "--" name }, (char[]){ "there" }, NULL }; \
		ck_assert_int_eq(args_parse(&a, argv, none), 0);                     \
		ck_assert_uint_eq(a.operands, 0);                                    \
	}
#include "launcher/recover/recover.def"
#undef OPTION
	ck_assert_str_eq(a.output, "there");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("man");

	tcase_add_test(tc, what_roff_would_take_for_its_own);
	tcase_add_test(tc, every_page_that_is_named_and_no_other);
	tcase_add_test(tc, the_file_does_not_say_where_it_is);
	tcase_add_test(tc, terms_come_before_options);
	tcase_add_test(tc, each_variable_says_what_it_does);
	tcase_add_test(tc, the_rows_of_a_subcommand_are_its_parsers);
	tcase_add_test(tc, recover_takes_what_its_page_names);
	return unit_run(tc, "man");
}
