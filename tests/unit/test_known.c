/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a spool is, and whether it still lives. */
#include "agent/core/self.h"
#include "base/sys.h"
#include "tests/unit/known_folder.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static uint64_t own_start(void)
{
	return sys_start_time(sys_pid());
}

/* In the place of libc's: a file system that knows no locks. */
static bool no_locks;
int fcntl(int fd, int command, ...)
{
	va_list args;
	void *arg;

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	if (no_locks && (command == F_OFD_SETLK || command == F_OFD_GETLK)) {
		errno = ENOLCK;
		return -1;
	}
	return (int)syscall(SYS_fcntl, fd, command, arg);
}

/* ... and a disk that does not answer. */
static bool no_disk;
ssize_t pread(int fd, void *to, size_t size, off_t at)
{
	if (no_disk) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pread64, fd, to, size, at);
}

/* ---- names ---- */

START_TEST(names_say_whose_they_are)
{
	static const struct {
		const char *name;
		uint32_t pid;
		uint64_t start;
	} rows[] = {
		{ "77.123.1.spool", 77, 123 },
		{ "node1_77.123.1.spool", 77, 123 },
		{ "train_2_77.123.1.spool", 77, 123 },
		{ "2_77.123.1.spool", 77, 123 },
		{ "node1_x.123.1.spool", 0, 0 },
		{ "77.x.1.spool", 0, 0 },
		{ "77.123", 0, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t start = 0;
		uint32_t pid = 0;
		bool is = life_name(rows[i].name, &pid, &start);

		ck_assert_msg(is == (rows[i].pid != 0), "%s", rows[i].name);
		ck_assert_msg(!is || (pid == rows[i].pid && start == rows[i].start), "%s",
			      rows[i].name);
	}
}
END_TEST

/* ---- life ---- */

START_TEST(a_process_that_maps_it_is_here)
{
	int fd = put_spool((uint32_t)sys_pid(), own_start(), "");
	struct life_who who = { "x.spool", (uint32_t)sys_pid(), own_start(), 0 };
	struct stat st;
	void *map;

	ck_assert_int_eq(life_look(&who), LIFE_GONE);
	who.name = ""; /* one in memory has its inode alone */
	ck_assert_int_eq(life_look(&who), LIFE_GONE);
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	fstat(fd, &st);
	who.ino = st.st_ino;
	ck_assert_int_eq(life_look(&who), LIFE_HERE);
	who.start++; /* somebody who has its number now */
	ck_assert_int_eq(life_look(&who), LIFE_GONE);
	who.pid = 0;
	ck_assert_int_eq(life_look(&who), LIFE_UNSEEN);
	munmap(map, 4096);
	close(fd);
}
END_TEST

static int go_on[2];

static void *stay(void *arg)
{
	char byte;

	(void)arg;
	if (read(go_on[0], &byte, 1))
		_exit(0);
	_exit(1);
}

/* A child whose main thread has ended while another one goes on. */
static pid_t leave_a_thread(void)
{
	pid_t pid;

	ck_assert_int_eq(pipe(go_on), 0);
	pid = fork();
	if (!pid) {
		pthread_t thread;

		pthread_create(&thread, NULL, stay, NULL);
		syscall(SYS_exit, 0);
	}
	return pid;
}

static void await_zombie(pid_t pid)
{
	char path[64], text[512], *state;

	fmt(path, sizeof(path), "/proc/%d/stat", (int)pid);
	do {
		sched_yield();
		ck_assert_int_gt(sys_read_file(path, text, sizeof(text)), 0);
		state = strrchr(text, ')');
	} while (!state || state[2] != 'Z');
}

START_TEST(a_main_thread_that_has_ended_is_no_end)
{
	pid_t pid = leave_a_thread();
	uint64_t start = sys_start_time((uint32_t)pid);
	int fd = put_spool((uint32_t)pid, start, "n_"), status;
	struct life_who who = { "n_", (uint32_t)pid, start, 0 };

	await_zombie(pid);
	ck_assert_int_ne(life_look(&who), LIFE_GONE);
	/* Its lock lives as long as we have the descriptor: so long it is not taken. */
	lock(fd);
	known_find(&all);
	known_judge(&all, 1, true);
	known_judge(&all, 10000000000, true);
	ck_assert_uint_eq(all.n, 1);
	ck_assert_int_eq(all.at[0]->state, KNOWN_LIVE);
	ck_assert_uint_eq(all.living, 1);
	ck_assert_int_eq(write(go_on[1], "", 1), 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	known_judge(&all, 30000000000, true);
	ck_assert_int_eq(all.at[0]->state, KNOWN_DEAD);
	close(fd);
}
END_TEST

/* Who can tell no lock lets a job go on, and believes what it sees of the process. */
START_TEST(where_there_are_no_locks_nobody_is_refused)
{
	int fd = put_spool(4000001, 7, ""), other = put_spool(77, own_start(), "x_");
	struct page one;
	char path[256];

	fmt(path, sizeof(path), "%s/" JOB_PAGE, job_folder());
	ck_assert_int_eq(page_open(&one, path, JOB_LOCK_FINISHER, 0), -EAGAIN);
	no_locks = true;
	ck_assert_int_eq(page_open(&one, path, JOB_LOCK_FINISHER, 0), 0);
	page_close(&one);
	ck_assert_int_lt(life_locked(fd), 0);
	known_find(&all);
	known_judge(&all, 1, true);
	ck_assert_uint_eq(all.living, 2);
	known_judge(&all, 10000000000, true);
	ck_assert_uint_eq(all.living, 0);
	no_locks = false;
	close(fd);
	close(other);
}
END_TEST

/* ---- those without a spool ---- */

/* A child that joins the job, and one of its own that only keeps the mapping. */
static pid_t join_and_stay(int said)
{
	pid_t pid = fork();
	char name[512];

	if (pid)
		return pid;
	job_name(name, sizeof(name));
	self_look(NULL);
	job = NULL;
	ck_assert_int_eq(job_join(name, NULL), 0);
	if (!fork()) {
		ck_assert_int_eq(write(said, "", 1), 1);
		pause();
	}
	ck_assert_int_eq(write(said, "", 1), 1);
	pause();
	_exit(0);
}

START_TEST(who_has_no_spool_so_far_is_there_as_well)
{
	int said[2], fd;
	pid_t pid[3];
	char bytes[2];

	ck_assert_uint_eq(known_living(&all, 0, true), 0);
	ck_assert_int_eq(pipe(said), 0);
	for (int i = 0; i < 3; i++) {
		pid[i] = join_and_stay(said[1]);
		for (int n = 0; n < 2; n++)
			ck_assert_int_eq(read(said[0], bytes, 1), 1);
	}
	ck_assert_uint_eq(known_living(&all, 0, true), 3);
	/* One of them has a spool: it is there once. */
	fd = put_spool((uint32_t)pid[0], sys_start_time((uint32_t)pid[0]), "");
	lock(fd);
	known_find(&all);
	known_judge(&all, 1, true);
	ck_assert_uint_eq(all.living, 1);
	ck_assert_uint_eq(known_living(&all, 0, true), 3);
	/* Three go, their children do not: nobody knows how many, and two are seen. */
	for (int i = 2; i >= 0; i--) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
		ck_assert(i < 2 || known_living(&all, 0, true) == 2);
	}
	known_judge(&all, 10000000000, true);
	ck_assert_uint_eq(all.living, 0);
	ck_assert_uint_eq(known_living(&all, 0, true), 1);
	close(fd);
}
END_TEST

/* ---- finding ---- */

/* The folder's clock has steps: what came in the one of our last look is not missed. */
START_TEST(what_came_in_the_same_tick_is_found)
{
	struct timespec later[2] = { { .tv_sec = time(NULL) + 3600 },
				     { .tv_sec = time(NULL) + 3600 } };
	int one = put_spool(77, 1, ""), other;

	ck_assert_int_eq(futimens(all.folder, later), 0);
	known_find(&all);
	ck_assert_uint_eq(all.n, 1);
	other = put_spool(78, 1, "");
	ck_assert_int_eq(futimens(all.folder, later), 0);
	known_find(&all);
	ck_assert_uint_eq(all.n, 2);
	close(one);
	close(other);
}
END_TEST

START_TEST(too_many_files_is_no_end)
{
	int fd = put_spool(77, 1, ""), next;
	struct rlimit old, few;
	struct known *k;

	lock(fd);
	known_find(&all);
	k = all.at[0];
	ck_assert(known_open(&all, k));
	close(k->fd);
	k->fd = -1;
	next = dup(fd);
	close(next);
	getrlimit(RLIMIT_NOFILE, &old);
	few = old;
	few.rlim_cur = (rlim_t)next;
	setrlimit(RLIMIT_NOFILE, &few);
	ck_assert(!known_open(&all, k));
	known_judge(&all, 1, false);
	setrlimit(RLIMIT_NOFILE, &old);
	ck_assert_int_eq(k->state, KNOWN_LIVE);
	ck_assert_uint_eq(all.living, 1);
	ck_assert(known_open(&all, k));
	close(fd);
}
END_TEST

START_TEST(what_others_made_is_not_read)
{
	int fd = put_spool(77, 1, "");
	char path[512], link[512];

	fmt(path, sizeof(path), "%s/77.1.1.spool", job_folder());
	fmt(link, sizeof(link), "%s/78.1.1.spool", job_folder());
	ck_assert_int_eq(symlink(path, link), 0);
	if (!geteuid())
		ck_assert_int_eq(fchown(fd, 4242, (gid_t)-1), 0);
	known_find(&all);
	for (size_t i = 0; i < all.n; i++)
		if (!geteuid() || !strcmp(all.at[i]->name, "78.1.1.spool"))
			ck_assert_int_eq(all.at[i]->state, KNOWN_OVER);
	close(fd);
}
END_TEST

/* They are told, to a terminal, too. */
START_TEST(a_name_that_a_terminal_would_obey_is_no_spools)
{
	static const char *const names[] = { "\033[2J77.1.1.spool", "77.1.\1771.spool",
					     "77.1.1 .spool", "77.1.1.spool\n" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		close(openat(all.folder, names[i], O_RDWR | O_CREAT, 0600));
	known_find(&all);
	ck_assert_uint_eq(all.n, 0);
}
END_TEST

/* A number that is of another namespace says nothing here. */
START_TEST(a_pid_of_elsewhere_is_nobodys)
{
	int fd;

	image->head->pid_ns = life_namespace() + 1;
	fd = put_spool((uint32_t)sys_pid(), own_start(), "");
	lock(fd);
	known_find(&all);
	known_judge(&all, 1, true);
	known_judge(&all, 10000000000, true);
	ck_assert_uint_eq(all.at[0]->pid, 0);
	ck_assert_int_eq(all.at[0]->state, KNOWN_LIVE);
	close(fd);
}
END_TEST

/* While it waits for its turn, and where it is left to recover. */
START_TEST(who_is_gone_keeps_no_room_ahead)
{
	int fd = put_spool(4000001, 7, "");
	struct stat st;

	ck_assert_int_eq(posix_fallocate(fd, 0, 8 << 20), 0);
	lock(fd);
	known_find(&all);
	known_judge(&all, 1, false);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_ge(st.st_blocks * 512, 8 << 20);
	known_judge(&all, 10000000000, true);
	ck_assert_int_eq(all.at[0]->state, KNOWN_DEAD);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_lt(st.st_blocks * 512, 1 << 20);
	close(fd);
}
END_TEST

/* Only a spool in which nothing was recorded is removed unread. */
START_TEST(what_cannot_be_read_is_kept)
{
	int fd = put_spool(4000001, 7, "");

	known_find(&all);
	no_disk = true;
	known_judge(&all, 1, true);
	no_disk = false;
	ck_assert_int_eq(all.at[0]->state, KNOWN_DEAD);
	ck_assert(all.at[0]->headed);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("known");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, names_say_whose_they_are);
	tcase_add_test(tc, a_process_that_maps_it_is_here);
	tcase_add_test(tc, a_main_thread_that_has_ended_is_no_end);
	tcase_add_test(tc, where_there_are_no_locks_nobody_is_refused);
	tcase_add_test(tc, who_has_no_spool_so_far_is_there_as_well);
	tcase_add_test(tc, what_came_in_the_same_tick_is_found);
	tcase_add_test(tc, too_many_files_is_no_end);
	tcase_add_test(tc, what_others_made_is_not_read);
	tcase_add_test(tc, a_name_that_a_terminal_would_obey_is_no_spools);
	tcase_add_test(tc, a_pid_of_elsewhere_is_nobodys);
	tcase_add_test(tc, who_is_gone_keeps_no_room_ahead);
	tcase_add_test(tc, what_cannot_be_read_is_kept);
	return unit_run(tc, "known spools");
}
