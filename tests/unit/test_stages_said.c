/* SPDX-License-Identifier: Apache-2.0 */
/* Stages in a file, in the environment and on the command line. */
#include "config/config_file.h"
#include "config/own_env.h"
#include "launcher/args.h"
#include "tests/unit/unit.h"

#include <unistd.h>

#define WORDS 16

static struct config c;
static struct args a;
static char dir[] = "/tmp/test_stages_said-XXXXXX";
static char bad[4096];
static char *none[] = { NULL };

static void enter(void)
{
	strcpy(dir, "/tmp/test_stages_said-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	config_defaults(&c);
	*bad = '\0';
}

static void leave(void)
{
	unlink("profile.conf");
	ck_assert_int_eq(chdir("/"), 0);
	rmdir(dir);
}

static void write_file(const char *text)
{
	FILE *f = fopen("profile.conf", "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void keep_complaint(const char *where, const char *why, void *arg)
{
	size_t n = strlen(bad);

	(void)arg;
	snprintf(bad + n, sizeof(bad) - n, "%s: %s\n", where, why);
}

/* Words are separated by bars. */
static int parse(const char *line, char **env)
{
	static char buf[1024];
	static char *argv[WORDS + 1];
	char *p = buf;
	size_t n = 0;

	snprintf(buf, sizeof(buf), "%s", line);
	argv[n++] = "proflaunch";
	while (p && n < WORDS)
		argv[n++] = strsep(&p, "|");
	argv[n] = NULL;
	return args_parse(&a, argv, env);
}

/* ---- a file ---- */

static void read_lines(const char *lines)
{
	write_file(lines);
	memset(&c, 0, sizeof(c));
	config_load(&c, NULL, none, keep_complaint, NULL);
}

START_TEST(a_section_is_of_its_stage)
{
	static const char lines[] =
		"\xef\xbb\xbfmarker = none\r\n  [ stage  val-2 ] # where it stops\r\n"
		"marker = 'python:v' # m\r\n\r\n# x\nschedule=active=1\n"
		"stage.a.marker = torch:#x\nfile = .v\n[stage a]\nfile = _a\n"
		"[stage val_2]\nwithin = python:w";

	read_lines(lines);
	ck_assert_str_eq(bad, "");
	ck_assert_str_eq(c.marker, "none");
	ck_assert_str_eq(c.schedule, "");
	ck_assert_str_eq(c.stages, "val_2.marker = python:v\n"
				   "val_2.schedule = active=1\na.marker = torch:#x\n"
				   "val_2.file = .v\na.file = _a\n"
				   "val_2.within = python:w\n");
}
END_TEST

/* A line below a head that cannot be read is of nobody. */
START_TEST(a_wrong_section_is_told_by_its_line)
{
	static const char lines[] =
		"[main]\nlogdir = /l\n[stage va l]\nschedule = active=1\n"
		"[stage a]\nlogdir = /a\nwithn = python:x\nmetadata.a = b\nfile = /x\n"
		"nonsense\nfile = .a\n[stage b\nfile = .b\n[]\n[stage ]\n[stageb]\n[stage c] x\n"
		"quiet = on\n[stage c]\nfile = .c\n";

	read_lines(lines);
	ck_assert_str_eq(
		bad,
		"profile.conf:1: expected [stage name] instead of '[main]'\n"
		"profile.conf:3: a stage's name is 1 to 31 letters, digits, '_' and '-'\n"
		"profile.conf:6: logdir: an option of the whole run stands above the first [stage ...]\n"
		"profile.conf:7: withn: no such key of a stage (did you mean within?)\n"
		"profile.conf:8: metadata.a: an option of the whole run stands above the first [stage ...]\n"
		"profile.conf:9: file: it is a part of a file's name: no slash, no '%', no '..' in it\n"
		"profile.conf:10: expected 'option = value' instead of 'nonsense'\n"
		"profile.conf:12: expected [stage name] instead of '[stage b'\n"
		"profile.conf:14: expected [stage name] instead of '[]'\n"
		"profile.conf:15: a stage's name is 1 to 31 letters, digits, '_' and '-'\n"
		"profile.conf:16: expected [stage name] instead of '[stageb]'\n"
		"profile.conf:17: expected [stage name] instead of '[stage c] x'\n");
	ck_assert_str_eq(c.logdir, "/l");
	ck_assert_str_eq(c.schedule, "");
	ck_assert_uint_eq(c.quiet, 0);
	ck_assert_str_eq(c.stages, "a.file = .a\nc.file = .c\n");
}
END_TEST

/* ---- the environment ---- */

START_TEST(rows_of_an_environment_are_theirs)
{
	char *env[] = { "PROF_STAGE_b_MARKER=auto",
			"PROF_STAGE_a.marker=torch:x",
			"PROF_STAGE_my_val_within=python:f",
			"PROF_STAGE_b_file=",
			"PROF_STAGE=prod",
			"PROF_STAGE_NAME=x",
			"PROF_STAGE_x_ELEPHANTS=1",
			"PROF_STAGE_=1",
			"PROF_STAGE__marker",
			"PROF_STAGE_marker=1",
			NULL };

	config_env(&c, env, keep_complaint, NULL);
	ck_assert_str_eq(bad, "");
	ck_assert_str_eq(c.stages, "b.marker = auto\na.marker = torch:x\n"
				   "my_val.within = python:f\n");
	for (unsigned i = 0; env[i]; i++)
		ck_assert_msg(own_env_is(env[i]) == (i < 4), "%s", env[i]);
}
END_TEST

START_TEST(a_row_that_is_misspelt_is_told)
{
	char *env[] = { "PROF_STAGE_a_makrer=auto", "PROF_STAGE_a_within=f", NULL };

	config_env(&c, env, keep_complaint, NULL);
	ck_assert_str_eq(
		bad,
		"PROF_STAGE_a_makrer: no such key of a stage (did you mean marker?)\n"
		"PROF_STAGE_a_within: 'f' is no function: python:[module.]name\n");
}
END_TEST

/* ---- the command line ---- */

static const struct {
	const char *line, *want;
} wrong[] = {
	{ "--stages|x",
	  "--stages: no such option (did you mean --stage.<name>.<key>?)\n" },
	{ "--stage|--|x", "--stage: its value is missing\n" },
	{ "--stage.a.file|--|x", "--stage.a.file: its value is missing\n" },
	{ "--stage=a=auto|--stage.a.withn|python:f|x",
	  "--stage.a.withn: no such key of a stage (did you mean within?)\n" },
	{ "--stage|a=python:1|x", "--stage: '1' cannot begin a name of Python's\n" },
	{ "--stage.a.schedule=wait=1|x",
	  "--stage.a.schedule: active must be given, and be at least 1\n" },
	{ "--stage.a.within=python:f|x",
	  "stages: a has no marker, which says where its steps end (auto, torch:<glob>, "
	  "python:<name>)\n" },
};

START_TEST(a_wrong_word_is_told)
{
	ck_assert_int_gt(parse(wrong[_i].line, none), 0);
	ck_assert_str_eq(a.bad, wrong[_i].want);
}
END_TEST

START_TEST(a_stage_is_said_in_two_ways)
{
	char *env[] = { "PROF_STAGE_a_marker=torch:x", "PROF_STAGE_b_file=.x", NULL };

	write_file("[stage b]\nmarker = torch:b\nfile = .y\n");
	ck_assert_int_eq(
		parse("--stage|a=python:f|--stage=my-c=torch:c|--stage.my-c.within=python:w|"
		      "--stage.a.schedule|active=1|--|x",
		      env),
		0);
	ck_assert_str_eq(a.config.stages,
			 "b.marker = torch:b\nb.file = .x\na.marker = python:f\n"
			 "my_c.marker = torch:c\nmy_c.within = python:w\n"
			 "a.schedule = active=1\n");
	ck_assert_pstr_eq(a.command[0], "x");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("stages as they are said");

	tcase_add_checked_fixture(tc, enter, leave);
	tcase_add_test(tc, a_section_is_of_its_stage);
	tcase_add_test(tc, a_wrong_section_is_told_by_its_line);
	tcase_add_test(tc, rows_of_an_environment_are_theirs);
	tcase_add_test(tc, a_row_that_is_misspelt_is_told);
	tcase_add_loop_test(tc, a_wrong_word_is_told, 0, sizeof(wrong) / sizeof(*wrong));
	tcase_add_test(tc, a_stage_is_said_in_two_ways);
	return unit_run(tc, "stages as they are said");
}
