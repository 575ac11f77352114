/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/config.h"
#include "agent/core/config_file.h"
#include "agent/core/place.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct config c;

static void fresh(void)
{
	config_check = NULL;
	config_defaults(&c);
}

static const char *take(const char *text)
{
	static char line[8192];

	snprintf(line, sizeof(line), "%s", text);
	return config_line(&c, line);
}

START_TEST(defaults_are_those_of_the_table)
{
	ck_assert_str_eq(c.logdir, "./log");
	ck_assert_str_eq(c.marker, "auto");
	ck_assert_str_eq(c.schedule, "");
	ck_assert_uint_eq(c.buffer_mb, 256);
	ck_assert_uint_eq(c.record_shapes, 0);
	ck_assert_uint_eq(c.children, 1);
	ck_assert_uint_eq(c.dialect, DIALECT_KINETO);
	ck_assert_uint_eq(c.format, FORMAT_JSON);
	ck_assert_str_eq(c.metadata, "");
}
END_TEST

static const struct {
	const char *line, *want; /* NULL = fine */
} lines[] = {
	{ "", NULL },
	{ "   \t", NULL },
	{ "# buffer_mb = 0", NULL },
	{ "buffer_mb=1", NULL },
	{ "  buffer_mb\t=  1048576  \r\n", NULL },
	{ "buffer_mb = \"7\"", NULL },
	{ "buffer_mb = 0", "buffer_mb: '0' is no number from 1 to 1048576" },
	{ "buffer_mb = 1048577", "buffer_mb: '1048577' is no number from 1 to 1048576" },
	{ "buffer_mb = 18446744073709551617",
	  "buffer_mb: '18446744073709551617' is no number from 1 to 1048576" },
	{ "buffer_mb = 1x", "buffer_mb: '1x' is no number from 1 to 1048576" },
	{ "buffer_mb = -1", "buffer_mb: '-1' is no number from 1 to 1048576" },
	{ "buffer_mb =", "buffer_mb: '' is no number from 1 to 1048576" },
	{ "record_shapes = maybe", "record_shapes: 'maybe' is neither on nor off" },
	{ "format = gz", "format: 'gz' is none of json|json.gz" },
	{ "format = json|json.gz", "format: 'json|json.gz' is none of json|json.gz" },
	{ "logdri = x", "logdri: no such option (did you mean logdir?)" },
	{ "loggdir = x", "loggdir: no such option (did you mean logdir?)" },
	{ "recordshapes = on",
	  "recordshapes: no such option (did you mean record_shapes?)" },
	{ "Schedule = on", "Schedule: no such option (did you mean schedule?)" },
	{ "meta.team = x", "meta.team: no such option (did you mean metadata.<key>?)" },
	{ "elephants = 3", "elephants: no such option" },
	{ "logdir", "expected: option = value" },
	{ "= x", "expected: option = value" },
	{ "metadata. = x",
	  "metadata.: a metadata key is 1 to 64 bytes without blanks and '='" },
};

START_TEST(a_line_is_taken_or_refused_with_its_reason)
{
	struct config before = c;
	const char *no = take(lines[_i].line);

	if (!lines[_i].want) {
		ck_assert_ptr_null(no);
		return;
	}
	ck_assert_ptr_nonnull(no);
	ck_assert_str_eq(no, lines[_i].want);
	ck_assert_mem_eq(&before, &c, sizeof(c)); /* a refused line changes nothing */
}
END_TEST

static const struct {
	const char *text;
	uint32_t want;
} flags[] = {
	{ "on", 1 },  { "ON", 1 }, { "1", 1 },  { "yes", 1 },   { "True", 1 },
	{ "off", 0 }, { "0", 0 },  { "No", 0 }, { "false", 0 },
};

START_TEST(a_flag_has_many_words)
{
	c.quiet = !flags[_i].want;
	ck_assert_ptr_null(config_set(&c, "quiet", flags[_i].text));
	ck_assert_uint_eq(c.quiet, flags[_i].want);
}
END_TEST

START_TEST(quotes_keep_blanks)
{
	ck_assert_ptr_null(take("logdir = \" a b \""));
	ck_assert_str_eq(c.logdir, " a b ");
	ck_assert_ptr_null(take("on_trace = \"a b\" {} \"c\""));
	ck_assert_str_eq(c.on_trace, "\"a b\" {} \"c\"");
	ck_assert_ptr_null(take("logdir = # is no comment here"));
	ck_assert_str_eq(c.logdir, "# is no comment here");
}
END_TEST

START_TEST(an_empty_text_is_the_default)
{
	ck_assert_ptr_null(take("logdir = x"));
	ck_assert_ptr_null(take("logdir ="));
	ck_assert_str_eq(c.logdir, "./log");
}
END_TEST

START_TEST(a_text_that_does_not_fit_is_refused)
{
	char text[CONFIG_TEXT + 1];

	memset(text, 'x', sizeof(text));
	text[CONFIG_TEXT - 1] = '\0';
	ck_assert_ptr_null(config_set(&c, "logdir", text));
	ck_assert_uint_eq(strlen(c.logdir), CONFIG_TEXT - 1);
	text[CONFIG_TEXT - 1] = 'x';
	text[CONFIG_TEXT] = '\0';
	ck_assert_ptr_nonnull(config_set(&c, "logdir", text));
	ck_assert_ptr_nonnull(config_set(&c, "logdir", "two\nlines"));
}
END_TEST

START_TEST(metadata_has_one_line_for_each_key)
{
	ck_assert_ptr_null(take("metadata.team = vision"));
	ck_assert_ptr_null(take("metadata.te = x = y"));
	ck_assert_ptr_null(take("metadata.team = speech"));
	ck_assert_str_eq(c.metadata, "te = x = y\nteam = speech\n");
	ck_assert_ptr_null(take("metadata.te ="));
	ck_assert_str_eq(c.metadata, "team = speech\nte = \n");
	ck_assert_ptr_nonnull(config_set(&c, "metadata.a b", "x"));
	ck_assert_ptr_nonnull(config_set(&c, "metadata.a", "x\ny"));
}
END_TEST

START_TEST(metadata_is_bounded)
{
	char name[32], value[128];
	unsigned took = 0;

	memset(value, 'v', sizeof(value));
	value[sizeof(value) - 1] = '\0';
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "metadata.k%u", i);
		took += !config_set(&c, name, value);
	}
	ck_assert_uint_ge(took, 25);
	ck_assert_uint_lt(strlen(c.metadata), CONFIG_METADATA);
	ck_assert_ptr_null(config_set(&c, "metadata.k0", value)); /* in place of itself */
}
END_TEST

static void refuse(const char *where, const char *why, void *arg)
{
	char *all = arg;
	size_t n = strlen(all);

	snprintf(all + n, 4096 - n, "%s: %s\n", where, why);
}

START_TEST(the_environment_is_read_and_judged)
{
	char *env[] = { "PATH=/bin",
			"PROF_LOGDIR=/x",
			"PROF_RECORD_SHAPES=1",
			"PROF_BUFFER_MB=",
			"PROF_FORMAT=xml",
			"PROF_METADATA_a.b-C=d",
			"PROF_JOB=/j",
			"PROF_LOGDRI=/y",
			"PROF_ELEPHANTS=3",
			"PROF_",
			"PROF",
			"PROF_MARKER",
			"XPROF_QUIET=1",
			NULL };
	char bad[4096] = "";

	config_env(&c, env, refuse, bad);
	ck_assert_str_eq(bad, "PROF_FORMAT: 'xml' is none of json|json.gz\n"
			      "PROF_LOGDRI: no such option (did you mean logdir?)\n");
	ck_assert_str_eq(c.logdir, "/x");
	ck_assert_uint_eq(c.record_shapes, 1);
	ck_assert_uint_eq(c.buffer_mb, 256);
	ck_assert_uint_eq(c.quiet, 0);
	ck_assert_str_eq(c.metadata, "a.b-C = d\n");
}
END_TEST

static const char *const texts[] = { "plain", " blank ", "\"q\" x \"q\"", "a\"b", "#",
				     "a = b", "" };

/* Any configuration, printed and read back line by line, is itself. */
START_TEST(what_is_printed_is_read_back)
{
	static struct config again;
	char buf[16384], quoted[64], *line, *save;

	snprintf(quoted, sizeof(quoted), texts[_i][0] == ' ' ? "\"%s\"" : "%s",
		 texts[_i]);
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

START_TEST(every_option_is_its_own_nearest)
{
	for (const struct config_option *o = config_options; o->name; o++)
		ck_assert_str_eq(config_nearest(o->name), o->name);
	ck_assert_ptr_null(config_nearest("a_name_that_is_like_none_of_them"));
	ck_assert_ptr_null(config_nearest(""));
}
END_TEST

START_TEST(spools_never_lie_in_shm)
{
	char dir[4096];
	const char *why;
	struct stat shm, dev;

	ck_assert_int_eq(place_spool(&c, NULL, dir, sizeof(dir), &why), 0);
	ck_assert_ptr_nonnull(why);
	if (stat("/dev/shm", &shm) || stat("/dev", &dev) || shm.st_dev == dev.st_dev)
		return;
	config_set(&c, "logdir", "/dev/shm/proflaunch-test/log");
	ck_assert_int_eq(place_spool(&c, "/dev/shm", dir, sizeof(dir), &why), 0);
	ck_assert_str_eq(dir, "");
}
END_TEST

START_TEST(a_named_spool_directory_is_taken_as_it_is)
{
	char dir[4096], tiny[4];
	const char *why;

	config_set(&c, "spool", "/some/where");
	ck_assert_int_eq(place_spool(&c, NULL, dir, sizeof(dir), &why), 0);
	ck_assert_str_eq(dir, "/some/where");
	ck_assert_int_eq(place_spool(&c, NULL, tiny, sizeof(tiny), &why), -ENAMETOOLONG);
	config_set(&c, "spool", "memory");
	ck_assert_int_eq(place_spool(&c, NULL, dir, sizeof(dir), &why), 0);
	ck_assert_str_eq(dir, "");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("config");

	tcase_add_checked_fixture(tc, fresh, NULL);
	tcase_add_test(tc, defaults_are_those_of_the_table);
	tcase_add_loop_test(tc, a_line_is_taken_or_refused_with_its_reason, 0,
			    sizeof(lines) / sizeof(*lines));
	tcase_add_loop_test(tc, a_flag_has_many_words, 0, sizeof(flags) / sizeof(*flags));
	tcase_add_test(tc, quotes_keep_blanks);
	tcase_add_test(tc, an_empty_text_is_the_default);
	tcase_add_test(tc, a_text_that_does_not_fit_is_refused);
	tcase_add_test(tc, metadata_has_one_line_for_each_key);
	tcase_add_test(tc, metadata_is_bounded);
	tcase_add_test(tc, the_environment_is_read_and_judged);
	tcase_add_loop_test(tc, what_is_printed_is_read_back, 0,
			    sizeof(texts) / sizeof(*texts));
	tcase_add_test(tc, every_option_is_its_own_nearest);
	tcase_add_test(tc, spools_never_lie_in_shm);
	tcase_add_test(tc, a_named_spool_directory_is_taken_as_it_is);
	return unit_run(tc, "config");
}
