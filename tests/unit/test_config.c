/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config.h"
#include "config/config_file.h"
#include "config/config_near.h"
#include "config/place.h"
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

#define BELOW "it goes below logdir: no slash at its begin, no '..' in it"

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
	{ "buffer_mb =", "buffer_mb: the value is empty" },
	{ "logdir = ''", "logdir: the value is empty" },
	{ "quiet =", "quiet: the value is empty" },
	{ "format = \"\"", "format: the value is empty" },
	{ "schedule =", NULL },
	{ "buffer-mb = 7", NULL },
	{ "buffer-mb = '7'", NULL },
	{ "buffer-mb = '7\"", "buffer-mb: ''7\"' is no number from 1 to 1048576" },
	{ "record_shapes = maybe", "record_shapes: 'maybe' is neither on nor off" },
	{ "format = gz", "format: 'gz' is none of json|json.gz" },
	{ "format = json|json.gz", "format: 'json|json.gz' is none of json|json.gz" },
	{ "logdri = x", "logdri: no such option (did you mean logdir?)" },
	{ "loggdir = x", "loggdir: no such option (did you mean logdir?)" },
	{ "recordshapes = on",
	  "recordshapes: no such option (did you mean record_shapes?)" },
	{ "record-shaps = on",
	  "record-shaps: no such option (did you mean record-shapes?)" },
	{ "record_shaps = on",
	  "record_shaps: no such option (did you mean record_shapes?)" },
	{ "Schedule = on", "Schedule: no such option (did you mean schedule?)" },
	{ "meta.team = x", "meta.team: no such option (did you mean metadata.<key>?)" },
	{ "elephants = 3", "elephants: no such option" },
	{ "flie = x", "flie: no such option (did you mean file?)" },
	{ "buffer_mb = 4294967303",
	  "buffer_mb: '4294967303' is no number from 1 to 1048576" },
	{ "quiet = \"", "quiet: '\"' is neither on nor off" },
	{ "file = a/..", "file: " BELOW },
	{ "file = ../a", "file: " BELOW },
	{ "file = a//../b", "file: " BELOW },
	{ "file = /a", "file: " BELOW },
	{ "file = a/...x/..b/c..", NULL },
	{ "logdir", "expected 'option = value' instead of 'logdir'" },
	{ "  [proflaunch]\r", "expected 'option = value' instead of '[proflaunch]'" },
	{ "= x", "expected 'option = value' instead of '= x'" },
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

/* Only what is nothing by default becomes nothing again. */
START_TEST(an_empty_text_is_the_default)
{
	static const char *const empty[] = { "schedule", "file", "on_trace", "config",
					     "c_calls" };
	char line[64];

	ck_assert_ptr_null(take("schedule = active=1"));
	ck_assert_ptr_null(take("schedule ="));
	ck_assert_str_eq(c.schedule, "");
	for (const struct config_option *o = config_options; *o->name; o++) {
		bool want = false;

		for (size_t i = 0; i < sizeof(empty) / sizeof(*empty); i++)
			want |= !strcmp(empty[i], o->name);
		snprintf(line, sizeof(line), "%s = \"\"", o->name);
		ck_assert_msg(!take(line) == want, "%s", o->name);
	}
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
	ck_assert_ptr_null(take("metadata.tea = speech"));
	ck_assert_str_eq(c.metadata, "team = vision\nte = x = y\ntea = speech\n");
	ck_assert_ptr_null(take("metadata.te ="));
	ck_assert_str_eq(c.metadata, "team = vision\ntea = speech\nte = \n");
	ck_assert_ptr_nonnull(config_set(&c, "metadata.a b", "x"));
	ck_assert_ptr_nonnull(config_set(&c, "metadata.a", "x\ny"));
	ck_assert_ptr_nonnull(config_set(&c, "metadata.a", "x\ry"));
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
	/* Each is there to its end. */
	ck_assert_int_eq(c.metadata[strlen(c.metadata) - 1], '\n');
	ck_assert_uint_lt(strlen(c.metadata), CONFIG_METADATA);
	ck_assert_ptr_null(config_set(&c, "metadata.k0", value)); /* in place of itself */
	ck_assert_int_eq(c.metadata[strlen(c.metadata) - 1], '\n');
	/* Byte by byte up to the last that fits. */
	for (size_t len = 0; len < 128; len++) {
		config_set(&c, "metadata.z", value + 127 - len);
		ck_assert_int_eq(c.metadata[strlen(c.metadata) - 1], '\n');
	}
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
			"PROF_SCHEDULE=",
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

	ck_assert_ptr_null(config_set(&c, "schedule", "active=1"));
	config_env(&c, env, refuse, bad);
	ck_assert_str_eq(c.schedule, "");
	ck_assert_str_eq(bad,
			 "PROF_FORMAT: 'xml' is none of json|json.gz\n"
			 "PROF_LOGDRI: no such option (did you mean PROF_LOGDIR?)\n");
	ck_assert_str_eq(c.logdir, "/x");
	ck_assert_uint_eq(c.record_shapes, 1);
	ck_assert_uint_eq(c.buffer_mb, 256);
	ck_assert_uint_eq(c.quiet, 0);
	ck_assert_str_eq(c.metadata, "a.b-C = d\n");
}
END_TEST

START_TEST(every_option_is_its_own_nearest)
{
	for (const struct config_option *o = config_options; *o->name; o++)
		ck_assert_str_eq(config_nearest(o->name), o->name);
	ck_assert_ptr_null(config_nearest("a_name_that_is_like_none_of_them"));
	ck_assert_ptr_null(config_nearest(""));
	ck_assert_str_eq(config_nearest("cuda_grahps"), "cuda_graphs");
	ck_assert_str_eq(config_nearest("native_stack"), "native_stacks");
}
END_TEST

/* Other programs have variables that begin as ours do, of any length. */
START_TEST(names_of_any_length_are_only_names)
{
	static char name[70000], entry[80000];
	char *env[] = { entry, NULL };
	char bad[4096] = "";

	memset(name, 'A', sizeof(name) - 1);
	for (size_t len = 1; len < sizeof(name); len = len * 5 / 4 + 1) {
		snprintf(entry, sizeof(entry), "PROF_%.*s=1", (int)len, name);
		config_env(&c, env, refuse, bad);
		snprintf(entry, sizeof(entry), "PROF_METADATA_%.*s=1", (int)len, name);
		config_env(&c, env, refuse, bad);
		ck_assert_ptr_null(config_nearest(name + sizeof(name) - 1 - len));
		ck_assert_ptr_nonnull(config_set(&c, name + sizeof(name) - 1 - len, "1"));
	}
}
END_TEST

START_TEST(help_is_of_the_option_that_is_asked_for)
{
	static const char *const helps[] = {
#define CFG(type, name, def, low, high, values, unit, help) help,
#include "config/config.def"
#undef CFG
	};

	for (size_t i = 0; i < sizeof(helps) / sizeof(*helps); i++)
		ck_assert_str_eq(config_help(&config_options[i]), helps[i]);
}
END_TEST

START_TEST(every_choice_is_printed_as_it_is_read)
{
	char buf[64], want[64];

	for (const struct config_option *o = config_options; *o->name; o++) {
		const char *p = o->values;

		while (o->type == CFG_choice && *p) {
			size_t n = strcspn(p, "|");

			snprintf(want, sizeof(want), "%.*s", (int)n, p);
			ck_assert_ptr_null(config_set(&c, o->name, want));
			config_value(&c, o, buf, sizeof(buf));
			ck_assert_str_eq(buf, want);
			p += n + (p[n] == '|');
		}
	}
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

START_TEST(a_choice_that_was_a_flag_is_spelt_as_one)
{
	static const struct {
		const char *text;
		uint32_t value;
	} cases[] = { { "off", CHILDREN_OFF }, { "no", CHILDREN_OFF },
		      { "0", CHILDREN_OFF },   { "on", CHILDREN_ON },
		      { "TRUE", CHILDREN_ON }, { "each", CHILDREN_EACH } };
	struct config mine;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		config_defaults(&mine);
		ck_assert_ptr_null(config_set(&mine, "children", cases[i].text));
		ck_assert_uint_eq(mine.children, cases[i].value);
	}
	ck_assert_ptr_nonnull(config_set(&mine, "children", "some"));
	/* Others have values of their own. */
	ck_assert_ptr_nonnull(config_set(&mine, "cuda_graphs", "1"));
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
	tcase_add_test(tc, every_option_is_its_own_nearest);
	tcase_add_test(tc, names_of_any_length_are_only_names);
	tcase_add_test(tc, help_is_of_the_option_that_is_asked_for);
	tcase_add_test(tc, every_choice_is_printed_as_it_is_read);
	tcase_add_test(tc, spools_never_lie_in_shm);
	tcase_add_test(tc, a_named_spool_directory_is_taken_as_it_is);
	tcase_add_test(tc, a_choice_that_was_a_flag_is_spelt_as_one);
	return unit_run(tc, "config");
}
