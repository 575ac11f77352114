/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around a value: comments, and quotes as they are printed. */
#include "config/config.h"
#include "config/config_comment.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

static struct config c;

static void fresh(void)
{
	config_defaults(&c);
}

START_TEST(a_comment_begins_behind_a_blank)
{
	static const char *const rows[][2] = {
		{ "logdir = a # b", "logdir = a " },
		{ "# all", "" },
		{ "  # all", "  " },
		{ "schedule = # none", "schedule = " },
		{ "logdir = a#b", "logdir = a#b" },
		{ "logdir =#b", "logdir =#b" },
		{ "logdir = 'a # b' # c", "logdir = 'a # b' " },
		{ "logdir='a # b'# c", "logdir='a # b'# c" },
		{ "on_trace = sh -c \"a # b\" 'c # d' #e",
		  "on_trace = sh -c \"a # b\" 'c # d' " },
		{ "metadata.n = don't # c's", "metadata.n = don't " },
		{ "metadata.n = the 'best # one", "metadata.n = the 'best " },
	};
	char line[128];

	snprintf(line, sizeof(line), "%s", rows[_i][0]);
	config_comment_cut(line);
	ck_assert_str_eq(line, rows[_i][1]);
}
END_TEST

static const char *const texts[] = { "plain",         " blank ", "behind ", "\tbefore",
				     "\"q\" x \"q\"", "a\"b",    "#",       "a = b",
				     "\"'q'\"",       "'\"q\"'", "'\" q'",  " it's " };

/* Any configuration, printed and read back line by line, is itself. */
START_TEST(what_is_printed_is_read_back)
{
	static struct config again;
	char buf[16384], quoted[64], *line, *save;

	snprintf(quoted, sizeof(quoted),
		 strpbrk(texts[_i], " \t") && !strchr("'\"", texts[_i][0]) ? "\"%s\""
									   : "%s",
		 texts[_i]);
	ck_assert_ptr_null(config_set(&c, "metadata.q", quoted));
	ck_assert_ptr_null(config_set(&c, "logdir", quoted));
	ck_assert_ptr_null(config_set(&c, "on_trace", quoted));
	ck_assert_ptr_null(config_set(&c, "metadata.k", "v = w"));
	ck_assert_ptr_null(config_set(&c, "format", "json.gz"));
	ck_assert_ptr_null(config_set(&c, "children", "off"));
	ck_assert_ptr_null(config_set(&c, "buffer_mb", "1"));
	ck_assert_uint_lt(config_print(&c, buf, sizeof(buf)), sizeof(buf));
	ck_assert_uint_eq(config_print(&c, NULL, 0), strlen(buf));
	config_defaults(&again);
	for (line = strtok_r(buf, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		ck_assert_ptr_null(config_line(&again, line));
	ck_assert_str_eq(again.logdir, c.logdir);
	ck_assert_str_eq(again.on_trace, c.on_trace);
	ck_assert_str_eq(again.metadata, c.metadata);
	ck_assert_uint_eq(again.format, c.format);
	ck_assert_uint_eq(again.children, c.children);
	ck_assert_uint_eq(again.buffer_mb, c.buffer_mb);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("config comment");

	tcase_add_checked_fixture(tc, fresh, NULL);
	tcase_add_loop_test(tc, a_comment_begins_behind_a_blank, 0, 11);
	tcase_add_loop_test(tc, what_is_printed_is_read_back, 0,
			    sizeof(texts) / sizeof(*texts));
	return unit_run(tc, "config comment");
}
