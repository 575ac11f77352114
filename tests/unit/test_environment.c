/* SPDX-License-Identifier: Apache-2.0 */
/* What the command gets of the launcher: environment and paths. */
#include "config/own_env.h"
#include "launcher/environment.h"
#include "launcher/run.h"
#include "tests/unit/unit.h"

#include <gnu/libc-version.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static struct config config;

static void setup(void)
{
	config_defaults(&config);
	unsetenv("LD_PRELOAD");
}

/* The value of the only row of that name. */
static const char *only(char *const *env, const char *name)
{
	const char *found = NULL;
	size_t n = strlen(name);

	for (; *env; env++)
		if (!strncmp(*env, name, n) && (*env)[n] == '=') {
			ck_assert_msg(!found, "two rows of %s", name);
			found = *env + n + 1;
		}
	return found;
}

START_TEST(the_agent_is_in_front_of_what_was_there)
{
	static const struct {
		char *was;
		const char *want; /* behind the agent */
	} rows[] = {
		{ NULL, "" },
		{ "LD_PRELOAD=", "" },
		{ "LD_PRELOAD=/x.so y.so", ":/x.so:y.so" },
		{ "LD_PRELOAD=/old/libproflaunch.so", "" },
		{ "LD_PRELOAD=/old/libproflaunch.so:/x.so", ":/x.so" },
	};
	char *env[] = { "PATH=/bin", rows[_i].was, NULL };
	bool old = strverscmp(gnu_get_libc_version(), "2.34") < 0;
	char want[256], **got;

	snprintf(want, sizeof(want), "/a/libproflaunch.so%s%s",
		 old ? ":" OWN_ENV_OLD_LIBRARIES : "", rows[_i].want);
	if (rows[_i].was)
		setenv("LD_PRELOAD", rows[_i].was + strlen("LD_PRELOAD="), 1);
	got = environment_make(env, &config, "/a/libproflaunch.so", "7:/job/page");
	ck_assert_str_eq(only(got, "LD_PRELOAD"), want);
	ck_assert_str_eq(only(got, "PATH"), "/bin");
	ck_assert_str_eq(only(got, "PROF_JOB"), "7:/job/page");
}
END_TEST

START_TEST(options_of_before_are_replaced)
{
	char *env[] = { "PROF_BUFFER_MB=7", "PROF_METADATA_a=1", "PROF_OTHERS=2",
			"PROF_JOB=old", NULL };
	char **got;

	config.buffer_mb = 99;
	ck_assert_ptr_null(config_set(&config, "metadata.b-C", "x = y"));
	got = environment_make(env, &config, "/a/libproflaunch.so", "new");
	ck_assert_str_eq(only(got, "PROF_BUFFER_MB"), "99");
	ck_assert_str_eq(only(got, "PROF_JOB"), "new");
	ck_assert_str_eq(only(got, "PROF_OTHERS"), "2");
	ck_assert_str_eq(only(got, "PROF_METADATA_b-C"), "x = y");
	ck_assert_ptr_null(only(got, "PROF_METADATA_a"));
}
END_TEST

/* Shells leave rows out that have a dot or a dash in their name. */
START_TEST(a_stage_has_rows_that_shells_keep)
{
	char *env[] = { "PROF_STAGE_old_marker=auto", "PROF_STAGE_old.file=x",
			"PROF_STAGE_NAME=others", NULL };
	static struct config back;
	char **got;

	ck_assert_ptr_null(config_set(&config, "stage", "my-val=python:a.b|c.d"));
	ck_assert_ptr_null(config_set(&config, "stage.my-val.file", ".v w"));
	got = environment_make(env, &config, "/a/libproflaunch.so", "new");
	ck_assert_str_eq(only(got, "PROF_STAGE_my_val_marker"), "python:a.b|c.d");
	ck_assert_str_eq(only(got, "PROF_STAGE_my_val_file"), ".v w");
	ck_assert_ptr_null(only(got, "PROF_STAGE_old_marker"));
	ck_assert_ptr_null(only(got, "PROF_STAGE_old.file"));
	ck_assert_str_eq(only(got, "PROF_STAGE_NAME"), "others");
	config_defaults(&back);
	config_env(&back, got, NULL, NULL);
	ck_assert_str_eq(back.stages, config.stages);
}
END_TEST

/* Each row costs each process of the job; and what a user has set must not come through.
 */
START_TEST(an_option_with_its_default_has_no_row)
{
	char rows[4][32] = { "PROF_BUFFER_MB=7", "PROF_Malloc=all",
			     "PROF_RECORD-SHAPES=on", "PROF_WITH_STACK=on" };
	char *env[] = { rows[0], rows[1], rows[2], rows[3], NULL };
	char **got = environment_make(env, &config, "/a/libproflaunch.so", "new");

	for (unsigned i = 0; env[i]; i++)
		ck_assert_ptr_null(only(got, strtok(env[i], "=")));
	ck_assert_ptr_null(only(got, "PROF_MARKER"));
	strcpy(config.marker, "none");
	got = environment_make(env, &config, "/a/libproflaunch.so", "new");
	ck_assert_str_eq(only(got, "PROF_MARKER"), "none");
}
END_TEST

START_TEST(a_log_directory_is_absolute_and_plain)
{
	static const char *const rows[][2] = {
		{ "log", "/log" },      { "./log", "/log" },   { ".//log", "/log" },
		{ "././/log", "/log" }, { "a/./b", "/a/./b" }, { ".", "" },
	};
	char want[2 * PATH_MAX], cwd[PATH_MAX];

	ck_assert_ptr_nonnull(getcwd(cwd, sizeof(cwd)));
	snprintf(want, sizeof(want), "%s%s", cwd, rows[_i][1]);
	strcpy(config.logdir, rows[_i][0]);
	ck_assert_int_eq(run_absolute(&config), 0);
	ck_assert_str_eq(config.logdir, want);
	ck_assert_int_eq(run_absolute(&config), 0); /* stays */
	ck_assert_str_eq(config.logdir, want);
	ck_assert_int_eq(chdir("/"), 0);
	strcpy(config.logdir, "./log");
	ck_assert_int_eq(run_absolute(&config), 0);
	ck_assert_str_eq(config.logdir, "/log");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("environment");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, the_agent_is_in_front_of_what_was_there, 0, 5);
	tcase_add_test(tc, options_of_before_are_replaced);
	tcase_add_test(tc, a_stage_has_rows_that_shells_keep);
	tcase_add_test(tc, an_option_with_its_default_has_no_row);
	tcase_add_loop_test(tc, a_log_directory_is_absolute_and_plain, 0, 6);
	return unit_run(tc, "environment");
}
