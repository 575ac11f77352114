/* SPDX-License-Identifier: Apache-2.0 */
/* recover: where files go, and what it says in the end. */
#include "launcher/recover/recover.h"
#include "tests/unit/salvage_folder.h"

static int recover(const char *one, const char *other)
{
	static struct args a;
	int status;

	a = (struct args){ .operands = other ? 2 : 1, .operand = { one, other } };
	config_defaults(&a.config);
	said_start();
	status = recover_main(&a);
	said();
	return status;
}

static unsigned traces_in(const char *dir)
{
	char command[512];
	unsigned n = 0;
	FILE *p;

	fmt(command, sizeof(command), "ls '%s' | grep -c trace.json", dir);
	p = popen(command, "r");
	ck_assert_int_eq(fscanf(p, "%u", &n), 1);
	pclose(p);
	return n;
}

/* A log directory, what lies in it, or one job: files go to the log directory. */
START_TEST(files_go_to_the_log_directory)
{
	const char *asked[] = { logdir, jobs, folder };

	close(put_spool(folder, "4000001.7.1.spool"));
	ck_assert_int_eq(recover(asked[_i], NULL), 0);
	ck_assert_uint_eq(traces_in(logdir), 1);
	ck_assert(!is_there(logdir, ".proflaunch"));
}
END_TEST

/* Spools that somebody has copied elsewhere. */
START_TEST(a_folder_of_spools_gets_its_files_itself)
{
	char here[512];

	fmt(here, sizeof(here), "%s/copies", image->dir);
	ck_assert_int_eq(mkdir(here, 0777), 0);
	close(put_spool(here, "4000001.7.1.spool"));
	ck_assert_int_eq(recover(here, NULL), 0);
	ck_assert_uint_eq(traces_in(here), 1);
	ck_assert_uint_eq(traces_in(image->dir), 0);
}
END_TEST

/* One of several that fails is not forgotten. */
START_TEST(the_status_is_of_all)
{
	char here[512];

	fmt(here, sizeof(here), "%s/copies", image->dir);
	ck_assert_int_eq(mkdir(here, 0777), 0);
	ck_assert_int_eq(recover(logdir, here), 0);
	ck_assert_int_eq(recover("/nowhere/at/all", here), 1);
	ck_assert_int_eq(recover(here, "/nowhere/at/all"), 1);
}
END_TEST

/* What stays, for it could not be read, is told to scripts. */
START_TEST(a_spool_that_fails_makes_the_status)
{
	close(put_spool(folder, "4000001.7.1.spool"));
	image->head->version++;
	close(put_spool(folder, "4000002.7.1.spool"));
	ck_assert_int_eq(recover(logdir, NULL), 1);
	ck_assert_uint_eq(traces_in(logdir), 1);
	ck_assert(is_there(folder, "4000002.7.1.spool"));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("recover");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_loop_test(tc, files_go_to_the_log_directory, 0, 3);
	tcase_add_test(tc, a_folder_of_spools_gets_its_files_itself);
	tcase_add_test(tc, the_status_is_of_all);
	tcase_add_test(tc, a_spool_that_fails_makes_the_status);
	return unit_run(tc, "recover");
}
