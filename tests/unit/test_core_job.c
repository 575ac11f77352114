/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/job.h"
#include "agent/core/self.h"
#include "base/sys.h"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WEEK 604800000000000ll

static char dir[64];

static void make_page(void)
{
	strcpy(dir, "/tmp/unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	self_look("test");
	ck_assert_int_eq(job_make(dir, 0), 0);
	ck_assert_int_eq(job_enlist(), 0);
}

static void begin_child(void)
{
	self_fork_child();
	self_settle(1);
	job_forget();
	job_enlist();
}

/* A child that enlists with `torch`, has a child of its own, and says whose pid the
 * grandchild takes for its leader's. */
static uint32_t leader_below(enum job_torch torch, uint32_t *middle)
{
	uint32_t answer[2] = { 0, 0 };
	int fds[2], status;
	pid_t pid;

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		begin_child();
		atomic_store(&job_mine->torch, torch);
		if (!fork()) {
			struct job_slot *s;

			begin_child();
			s = job_ancestor();
			answer[0] = s ? atomic_load(&s->pid) : 0;
			answer[1] = self.ppid;
			_exit(write(fds[1], answer, sizeof(answer)) != sizeof(answer));
		}
		wait(&status);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ck_assert_int_eq(read(fds[0], answer, sizeof(answer)), sizeof(answer));
	*middle = answer[1];
	return answer[0];
}

START_TEST(who_only_imports_torch_leads_nobody)
{
	uint32_t middle;

	make_page();
	atomic_store(&job_mine->torch, TORCH_USED);
	ck_assert_uint_eq(leader_below(TORCH_FOUND, &middle), sys_pid());
	ck_assert_uint_eq(leader_below(TORCH_USED, &middle), middle);
	atomic_store(&job_mine->torch, TORCH_FOUND);
	ck_assert_uint_eq(leader_below(TORCH_FOUND, &middle), middle);
	atomic_store(&job_mine->torch, TORCH_NONE);
	ck_assert_uint_eq(leader_below(TORCH_NONE, &middle), 0);
}
END_TEST

START_TEST(the_base_is_a_week_and_the_same_for_all)
{
	for (int64_t now = 1700000000123456789; now < 1700000000123456789 + 3 * WEEK;
	     now += WEEK / 7) {
		int64_t base = job_base_ns(now);

		ck_assert_int_eq(base % WEEK, 0);
		ck_assert_int_le(base, now);
		ck_assert_int_gt(base, now - WEEK);
	}
}
END_TEST

START_TEST(only_a_page_of_our_own_is_believed)
{
	char path[128], named[4200];
	FILE *f;

	make_page();
	job_name(named, sizeof(named));
	snprintf(path, sizeof(path), "%s/other", dir);
	f = fopen(path, "w");
	for (size_t i = 0; i < sizeof(struct job_page); i++)
		fputc(0, f);
	fclose(f);
	job = NULL;
	ck_assert_int_eq(job_join(path, NULL), -EINVAL);
	ck_assert_int_lt(job_join("/no/such/page", NULL), 0);
	ck_assert_int_eq(truncate(path, 10), 0);
	ck_assert_int_eq(job_join(path, NULL), -EPERM);
	/* Another file by that name is not the one that was meant. */
	ck_assert_int_eq(job_join(strchr(named, ':'), NULL), 0);
	job = NULL;
	named[0] ^= 1;
	ck_assert_int_eq(job_join(named, NULL), -EPERM);
	named[0] ^= 1;
	ck_assert_int_eq(job_join(named, NULL), 0);
	job = NULL;
	ck_assert_int_eq(job_join(NULL, dir), 0);
}
END_TEST

START_TEST(who_made_the_page_removes_it)
{
	struct stat st;

	make_page();
	ck_assert_int_eq(stat(job_folder(), &st), 0);
	job_unmake();
	ck_assert_int_ne(stat(dir, &st), 0);
}
END_TEST

/* An exec keeps pid and start time, and makes a second job. */
START_TEST(two_jobs_of_one_process_have_two_folders)
{
	char first[4096];

	make_page();
	strcpy(first, job_folder());
	ck_assert_int_eq(job_make(dir, 0), 0);
	ck_assert_str_ne(first, job_folder());
}
END_TEST

/* Only where neither launcher nor finisher is there. */
START_TEST(a_job_is_taken_over_from_nobody_alone)
{
	for (int byte = JOB_LOCK_LAUNCHER; byte <= JOB_LOCK_FINISHER; byte++) {
		struct flock one = { .l_type = F_WRLCK,
				     .l_whence = SEEK_SET,
				     .l_start = byte,
				     .l_len = 1 };
		char path[4200];
		unsigned files;
		int fd;

		make_page();
		snprintf(path, sizeof(path), "%s/" JOB_PAGE, job_folder());
		fd = open(path, O_RDWR);
		ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &one), 0);
		files = seam_open_files();
		errno = 4711;
		ck_assert(!job_take_over());
		ck_assert_int_eq(errno, 4711);
		ck_assert_uint_eq(seam_open_files(), files);
		close(fd);
		ck_assert(job_take_over());
		job_give_back();
	}
}
END_TEST

START_TEST(slots_of_the_dead_are_taken_again)
{
	make_page();
	for (unsigned i = 0; i < JOB_SLOTS; i++)
		if (&job->slot[i] != job_mine)
			atomic_store(&job->slot[i].pid, 0x7ffffff0);
	job_forget();
	ck_assert_int_eq(job_enlist(), 0);
	ck_assert_uint_eq(atomic_load(&job_mine->pid), sys_pid());
}
END_TEST

/* A pid comes round again: its slot is that of a process which has gone. */
START_TEST(slots_of_a_reused_pid_are_taken_again)
{
	make_page();
	for (unsigned i = 0; i < JOB_SLOTS; i++) {
		struct job_slot *s = &job->slot[i];

		atomic_store(&s->pid, (uint32_t)getppid());
		s->start_time = sys_start_time((uint32_t)getppid()) + (i == 700);
	}
	job_forget();
	ck_assert_int_eq(job_enlist(), 0);
	ck_assert_ptr_eq(job_mine, &job->slot[700]);
	job_forget();
	ck_assert_int_eq(job_enlist(), -ENOSPC); /* all others live */
}
END_TEST

static unsigned opened;

static bool count_opens(long nr, const long a[6], long *result)
{
	(void)a;
	(void)result;
	opened += nr == SYS_openat;
	return false;
}

/* To look whether they live is to open files: with a launcher its finisher does it. */
START_TEST(in_a_launchers_job_the_dead_are_not_looked_for)
{
	make_page();
	for (unsigned i = 0; i < JOB_SLOTS; i++)
		atomic_store(&job->slot[i].pid, 0x7ffffff0);
	atomic_store(&job->launcher, 1);
	job_forget();
	seam = count_opens;
	ck_assert_int_eq(job_enlist(), -ENOSPC);
	ck_assert_uint_eq(opened, 0);
	ck_assert_ptr_null(job_mine);
}
END_TEST

START_TEST(a_slot_has_nothing_of_who_had_it_before)
{
	struct job_slot *s;

	make_page();
	s = job_mine;
	memset((char *)s + offsetof(struct job_slot, torch), 0x77,
	       sizeof(*s) - offsetof(struct job_slot, torch));
	atomic_store(&s->pid, 0);
	job_forget();
	ck_assert_ptr_null(job_mine);
	ck_assert_int_eq(job_enlist(), 0);
	ck_assert_ptr_eq(job_mine, s);
	ck_assert_uint_eq(s->start_time, self.start_time);
	ck_assert_uint_eq(s->torch, 0);
	ck_assert_uint_eq(s->gate, 0);
	ck_assert_uint_eq(s->boundaries, 0);
	ck_assert_uint_eq(s->leader, 0);
	for (int i = 0; i < JOB_WINDOWS; i++)
		ck_assert_uint_eq(s->window[i].cycle | s->window[i].begin |
					  s->window[i].end | s->window[i].fate,
				  0);
}
END_TEST

START_TEST(a_stranger_of_an_ancestors_pid_leads_nobody)
{
	struct job_slot *s;

	make_page();
	s = &job->slot[5];
	atomic_store(&s->pid, self.ancestor[0].pid);
	atomic_store(&s->torch, TORCH_USED);
	s->start_time = self.ancestor[0].start_time + 1;
	ck_assert_ptr_null(job_ancestor());
	s->start_time--;
	ck_assert_ptr_eq(job_ancestor(), s);
}
END_TEST

START_TEST(a_page_of_another_user_is_not_believed)
{
	char path[4200];

	if (geteuid())
		return;
	make_page();
	snprintf(path, sizeof(path), "%s/" JOB_PAGE, job_folder());
	ck_assert_int_eq(chown(path, 65533, 65533), 0);
	job = NULL;
	ck_assert_int_eq(job_join(path, NULL), -EPERM);
	ck_assert_ptr_null(job);
	ck_assert_int_eq(chown(path, 0, 0), 0);
	ck_assert_int_eq(job_join(path, NULL), 0);
}
END_TEST

static long write_error;

static bool refuse_writes(long nr, const long a[6], long *result)
{
	(void)a;
	*result = write_error;
	return nr == SYS_write && write_error;
}

START_TEST(a_page_without_room_is_not_left)
{
	unsigned before = seam_open_files();

	strcpy(dir, "/tmp/unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	strcat(dir, "/log");
	self_look("test");
	seam = refuse_writes;
	write_error = -ENOSPC;
	ck_assert_int_eq(job_make(dir, 0), -ENOSPC);
	ck_assert_ptr_null(job);
	ck_assert_str_eq(job_folder(), "");
	ck_assert_int_ne(access(dir, F_OK), 0);
	write_error = 0;
	ck_assert_int_eq(job_make(dir, 0), 0);
	ck_assert_uint_eq(seam_open_files(), before);
}
END_TEST

START_TEST(a_child_does_not_remove_its_parents_page)
{
	int status;
	pid_t pid;

	make_page();
	pid = fork();
	if (!pid) {
		job_unmake();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(access(job_folder(), F_OK), 0);
	errno = 4711;
	job_unmake();
	ck_assert_int_eq(errno, 4711);
	ck_assert_int_ne(access(dir, F_OK), 0);
}
END_TEST

static unsigned woken;

static bool count_wakes(long nr, const long a[6], long *result)
{
	(void)result;
	woken += nr == SYS_futex && a[0] == (long)&job->handed;
	return false;
}

START_TEST(a_page_says_what_all_must_know)
{
	make_page();
	ck_assert_uint_eq(strlen(job->boot_id), 36);
	ck_assert_str_eq(job->host, self.host);
	ck_assert_str_eq(job->id, strrchr(job_folder(), '/') + 1);
	ck_assert_uint_eq(job->launched, 0);
	seam = count_wakes;
	job_handed();
	ck_assert_uint_eq(job->handed, 1);
	ck_assert_uint_eq(woken, 1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core job");

	tcase_add_test(tc, who_only_imports_torch_leads_nobody);
	tcase_add_test(tc, the_base_is_a_week_and_the_same_for_all);
	tcase_add_test(tc, only_a_page_of_our_own_is_believed);
	tcase_add_test(tc, who_made_the_page_removes_it);
	tcase_add_test(tc, two_jobs_of_one_process_have_two_folders);
	tcase_add_test(tc, a_job_is_taken_over_from_nobody_alone);
	tcase_add_test(tc, slots_of_the_dead_are_taken_again);
	tcase_add_test(tc, slots_of_a_reused_pid_are_taken_again);
	tcase_add_test(tc, in_a_launchers_job_the_dead_are_not_looked_for);
	tcase_add_test(tc, a_slot_has_nothing_of_who_had_it_before);
	tcase_add_test(tc, a_stranger_of_an_ancestors_pid_leads_nobody);
	tcase_add_test(tc, a_page_of_another_user_is_not_believed);
	tcase_add_test(tc, a_page_without_room_is_not_left);
	tcase_add_test(tc, a_child_does_not_remove_its_parents_page);
	tcase_add_test(tc, a_page_says_what_all_must_know);
	return unit_run(tc, "core job");
}
