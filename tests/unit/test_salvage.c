/* SPDX-License-Identifier: Apache-2.0 */
/* What recover takes of a job whose launcher is gone, and what it leaves. */
#include "tests/unit/salvage_bench.h"

#include <sys/file.h>

static int open_page(void)
{
	char path[1024];
	int fd;

	fmt(path, sizeof(path), "%s/" JOB_PAGE, folder);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

/* ---- what is taken ---- */

START_TEST(a_job_whose_processes_are_gone)
{
	close(put_spool(folder, "4000001.7.1.spool"));
	close(put_named(folder, "4000002.7.1.spool")); /* recorded nothing */
	close(put_named(folder, "4000003.7.1.new"));
	ck_assert_str_eq(salvage(), "");
	ck_assert_uint_eq(files, 1);
	ck_assert_uint_eq(all.totals.made, 1);
	ck_assert_uint_eq(all.totals.failed + all.totals.living, 0);
	ck_assert(!strncmp(made, logdir, strlen(logdir)));
	ck_assert(!is_there(jobs, strrchr(folder, '/') + 1));
}
END_TEST

START_TEST(what_lies_in_the_folder_itself)
{
	close(put_spool(jobs, "4000001.7.1.spool"));
	close(put_named(jobs, "4000003.7.1.new"));
	salvage();
	ck_assert_uint_eq(files, 1);
	ck_assert(!is_there(jobs, "4000001.7.1.spool"));
	/* Of whom that is nobody knows. */
	ck_assert(is_there(jobs, "4000003.7.1.new"));
}
END_TEST

/* ---- what is left ---- */

/* They have recorded nothing so far; what they will lies beside the page. */
START_TEST(members_without_a_spool)
{
	int fd = open_page();

	lock(fd, JOB_LOCK_MEMBER + 4242, 1);
	expect_left(JOB_PAGE, "a process of it is still running");
	close(fd);
	salvage();
	ck_assert(!is_there(folder, JOB_PAGE));
}
END_TEST

START_TEST(a_job_that_has_a_launcher_or_a_finisher)
{
	for (int i = 0; i < 2; i++) {
		int fd = open_page();

		close(put_spool(folder, "4000001.7.1.spool"));
		all.totals.living = 0;
		lock(fd, i ? JOB_LOCK_FINISHER : JOB_LOCK_LAUNCHER, 1);
		expect_left("4000001.7.1.spool",
			    i ? "that finishes it" : "that is running it");
		close(fd);
	}
	/* Nor does the first try keep a lock. */
	salvage();
	ck_assert_uint_eq(files, 1);
}
END_TEST

/* The lock of one that was killed may go a moment after its process. */
START_TEST(a_lock_that_is_about_to_go)
{
	for (int i = 0; i < 2; i++) {
		int fd = open_page();

		lock(fd, i ? JOB_LOCK_FINISHER : JOB_LOCK_LAUNCHER, 1);
		if (!fork()) {
			usleep(30000);
			_exit(0);
		}
		close(fd);
	}
	close(put_spool(folder, "4000001.7.1.spool"));
	ck_assert_str_eq(salvage(), "");
	ck_assert_uint_eq(files, 1);
}
END_TEST

/* Another recover has it: neither its spool nor the page it works by goes. */
START_TEST(a_spool_that_another_one_has)
{
	int fd = put_spool(folder, "4000001.7.1.spool");

	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	ck_assert_str_eq(salvage(), "");
	ck_assert_uint_eq(files, 0);
	ck_assert(is_there(folder, "4000001.7.1.spool"));
	ck_assert(is_there(folder, JOB_PAGE));
	close(fd);
}
END_TEST

/* It may be made whole by the version that wrote it. */
START_TEST(a_spool_of_another_version)
{
	int fd;

	image->head->version++;
	fd = put_spool(folder, "4000001.7.1.spool");
	ck_assert_ptr_nonnull(strstr(salvage(), "another version of proflaunch"));
	ck_assert_uint_eq(all.totals.failed, 1);
	ck_assert(is_there(folder, "4000001.7.1.spool"));
	ck_assert(is_there(folder, JOB_PAGE));
	close(fd);
}
END_TEST

/* Made anew, or of a file that was one before. */
static const char *const begun[] = { "4000003.7.1.new", "3d0a1.spare" };

START_TEST(one_that_is_being_made)
{
	int fd = put_named(folder, begun[_i]);

	lock(fd, 0, 0);
	salvage();
	ck_assert(is_there(folder, begun[_i]));
	close(fd);
	salvage();
	ck_assert(!is_there(folder, begun[_i]));
}
END_TEST

START_TEST(a_link_is_nobodys_spool)
{
	char path[1024];

	close(put_spool(jobs, "target"));
	fmt(path, sizeof(path), "%s/4000001.7.1.spool", folder);
	ck_assert_int_eq(symlink("../target", path), 0);
	salvage();
	ck_assert_uint_eq(files, 0);
	ck_assert_uint_eq(all.totals.failed, 1);
	ck_assert(is_there(jobs, "target"));
}
END_TEST

/* ---- of several log directories ---- */

/* Is a spool with that line taken by who asks for /data/a? */
static bool is_taken(const char *lines)
{
	fmt(image->head->config, sizeof(image->head->config), "%s", lines);
	close(put_spool(folder, "4000001.7.1.spool"));
	all.only = "/data/a";
	salvage();
	return !is_there(folder, "4000001.7.1.spool");
}

START_TEST(only_what_is_asked_for)
{
	ck_assert(!is_taken("logdir = /data/ab\n"));
	ck_assert(!is_taken("logdir = /data\n"));
	ck_assert(!is_taken("file = x\nmylogdir = /data/a\n"));
	ck_assert(!is_taken(""));
	ck_assert_uint_eq(files, 0);
	/* Others' page is needed still. */
	ck_assert(is_there(folder, JOB_PAGE));
	ck_assert(is_taken("file = x\nlogdir = /data/a\nmalloc = all\n"));
	ck_assert_uint_eq(files, 1);
}
END_TEST

/* ---- windows of children ---- */

/* The page knows that the parent's window, and with it this one, ended at 50000. */
static void put_follower(uint32_t ino)
{
	struct job_slot *slot = &job->slot[3];

	image->info->flags = CYCLE_CHILD;
	image->info->state = CYCLE_OPEN;
	image->info->end = 0;
	slot->start_time = 7;
	slot->spool = ino;
	slot->leader = (uint64_t)4000009 << 32 | 8;
	slot->gate = slot->window[1 % JOB_WINDOWS].cycle = 1;
	slot->window[1 % JOB_WINDOWS].begin = 1000;
	slot->window[1 % JOB_WINDOWS].end = 50000;
	slot->pid = DEAD;
}

static void expect_cut(void)
{
	salvage();
	ck_assert_uint_eq(files, 1);
	spool_image_read(image, made);
	ck_assert_ptr_nonnull(image_event(image, "early", 0));
	ck_assert_ptr_null(image_event(image, "later", 0));
}

START_TEST(a_childs_window_ends_with_its_parents)
{
	struct stat st;
	int fd;

	put_follower(0);
	fd = put_spool(folder, "4000001.7.1.spool");
	ck_assert_int_eq(fstat(fd, &st), 0);
	job->slot[3].spool = (uint32_t)st.st_ino;
	expect_cut();
	close(fd);
}
END_TEST

/* A copy has other inodes than the page says. */
START_TEST(also_in_a_folder_that_was_copied)
{
	put_follower(12345);
	close(put_spool(folder, "4000001.7.1.spool"));
	expect_cut();
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("salvage");

	tcase_add_checked_fixture(tc, begin_to_salvage, end);
	tcase_add_test(tc, a_job_whose_processes_are_gone);
	tcase_add_test(tc, what_lies_in_the_folder_itself);
	tcase_add_test(tc, members_without_a_spool);
	tcase_add_test(tc, a_job_that_has_a_launcher_or_a_finisher);
	tcase_add_test(tc, a_lock_that_is_about_to_go);
	tcase_add_test(tc, a_spool_that_another_one_has);
	tcase_add_test(tc, a_spool_of_another_version);
	tcase_add_loop_test(tc, one_that_is_being_made, 0, 2);
	tcase_add_test(tc, a_link_is_nobodys_spool);
	tcase_add_test(tc, only_what_is_asked_for);
	tcase_add_test(tc, a_childs_window_ends_with_its_parents);
	tcase_add_test(tc, also_in_a_folder_that_was_copied);
	return unit_run(tc, "salvage");
}
