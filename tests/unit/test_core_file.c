/* SPDX-License-Identifier: Apache-2.0 */
/* The spool's file: what goes wrong while it is made, written, or given to a child. */
#include "agent/core/chunk.h"
#include "agent/core/hold.h"
#include "agent/core/job.h"
#include "agent/core/self.h"
#include "base/sys.h"
#include "tests/unit/seam.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define CAP (8u << 20)

static char dir[32];

static void begin(void)
{
	strcpy(dir, "/tmp/unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static unsigned files(void)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	for (struct dirent *e; (e = readdir(d));)
		n += *e->d_name != '.';
	closedir(d);
	return n;
}

/* ---- what is refused ---- */

static int rename_error;

__attribute__((visibility("default"))) int rename(const char *from, const char *to)
{
	if (!rename_error)
		return (int)syscall(SYS_rename, from, to);
	errno = rename_error;
	return -1;
}

START_TEST(a_file_that_fails_is_not_left)
{
	unsigned open;

	begin();
	open = seam_open_files();
	rename_error = ENOSPC;
	errno = 4711;
	ck_assert_int_eq(spool_place(dir, CAP), -ENOSPC);
	ck_assert_int_eq(errno, 4711);
	ck_assert_uint_eq(files(), 0);
	ck_assert_ptr_null(spool.base);
	ck_assert_uint_eq(seam_open_files(), open);
	/* The caller has heard why, and records in memory all the same. */
	ck_assert_int_eq(spool_open(NULL, CAP), 0);
	ck_assert(!spool.kept && !spool.head->kept);
	ck_assert_str_eq(spool_path, "");
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_SMALL, 1), 0);
}
END_TEST

START_TEST(a_file_larger_than_is_allowed_is_not_made)
{
	struct rlimit limit = { CAP - 1, RLIM_INFINITY };

	begin();
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(spool_place(dir, CAP), -EFBIG);
	ck_assert_int_eq(spool_place_held("job", CAP), -EFBIG);
	ck_assert_uint_eq(files(), 0);
	limit.rlim_cur = CAP;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(spool_place(dir, CAP), 0);
	ck_assert_uint_eq(files(), 1);
}
END_TEST

START_TEST(memory_is_held_by_a_launcher_or_not_at_all)
{
	struct sockaddr_un address;
	socklen_t length = hold_address(&address, "unit_job");
	int s = socket(AF_UNIX, SOCK_DGRAM, 0);
	unsigned open = seam_open_files();

	ck_assert_int_eq(spool_place_held("unit_job", CAP), -ECONNREFUSED);
	ck_assert_ptr_null(spool.base);
	ck_assert_uint_eq(seam_open_files(), open);
	ck_assert_int_eq(bind(s, (struct sockaddr *)&address, length), 0);
	ck_assert_int_eq(spool_place_held("unit_job", CAP), 0);
	ck_assert(spool.kept);
	ck_assert_uint_eq(seam_open_files(), open);
}
END_TEST

/* ---- a disk that is full ---- */

static long full_from = -1; /* bytes of the spool that can be had; -1 = all */

static bool refuse_pages(long nr, const long a[6], long *result)
{
	if (nr != SYS_madvise || a[2] != 23 /* MADV_POPULATE_WRITE */ || full_from < 0 ||
	    (uint8_t *)a[0] + a[1] <= spool.base + full_from)
		return false;
	*result = -EFAULT;
	return true;
}

START_TEST(a_header_that_cannot_be_written_is_no_spool)
{
	begin();
	ck_assert_int_eq(spool_place(dir, CAP), 0);
	seam = refuse_pages;
	full_from = 0;
	ck_assert_int_eq(spool_begin(), -ENOSPC);
	ck_assert_ptr_null(spool.head);
	full_from = -1;
	ck_assert_int_eq(spool_begin(), 0);
}
END_TEST

/* Each page is asked for once, and none is left out. */
START_TEST(no_page_of_the_header_is_taken_as_read)
{
	begin();
	ck_assert_int_eq(spool_open(dir, CAP), 0);
	seam = refuse_pages;
	full_from = 0;
	for (unsigned at = 8192; at < SPOOL_HEADER; at += 4096) {
		bool was = atomic_load(&spool.pages) >> at / 4096 & 1;

		ck_assert_int_eq(spool_head_has(spool.base + at, 4096), was);
		/* Over an edge both are needed. */
		if (at + 4096 < SPOOL_HEADER &&
		    !(atomic_load(&spool.pages) >> (at / 4096 + 1) & 1))
			ck_assert(!spool_head_has(spool.base + at + 4095, 2));
	}
	full_from = -1;
	ck_assert(spool_head_has(spool.base, SPOOL_HEADER));
	ck_assert_uint_eq(atomic_load(&spool.pages), 0xffff);
	full_from = 0;
	ck_assert(spool_head_has(spool.base, SPOOL_HEADER));
	ck_assert(spool_head_has(&dir, 1)); /* not ours */
	ck_assert(spool_head_has(spool.base + SPOOL_HEADER, 1));
}
END_TEST

START_TEST(a_full_disk_ends_the_spool_behind_what_is_in_use)
{
	uint64_t used;

	begin();
	ck_assert_int_eq(spool_open(dir, CAP), 0);
	for (int i = 0; i < 9; i++) /* nobody has made them ready */
		ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_SMALL, 1), 0);
	seam = refuse_pages;
	used = atomic_load(&spool.head->used);
	full_from = (long)used;
	errno = 4711;
	ck_assert_int_eq(spool_prepare(1 << 20), -ENOSPC);
	ck_assert_int_eq(errno, 4711);
	ck_assert_uint_eq(atomic_load(&spool.head->limit), used);
	ck_assert_uint_eq(chunk_take(CHUNK_DATA, CHUNK_SMALL, 1), 0);
	ck_assert_int_eq(spool_prepare(1 << 20), 0);
}
END_TEST

/* ---- facts ---- */

START_TEST(facts_end_where_their_room_does)
{
	char value[201];

	begin();
	ck_assert_int_eq(spool_open(dir, CAP), 0);
	memset(value, '7', 200);
	value[200] = '\0';
	for (int i = 0; i < 100; i++)
		spool_fact("key", value);
	ck_assert_uint_eq(strlen(spool.head->facts), 8192 / 207 * 207);
	ck_assert_str_eq(spool.head->facts + 207 * (8192 / 207 - 1) + 206, "\n");
	ck_assert_uint_ne(spool.head->clock[0].real_ns, 0);
	ck_assert_int_lt(spool.head->clock[0].mono_ns, INT64_MAX / 2);
	spool_fact("k", "1"); /* what is short still fits */
	ck_assert_ptr_nonnull(strstr(spool.head->facts, "\nk = 1\n"));
}
END_TEST

/* ---- fork ---- */

/* In the middle of that call, of that address: a signal's handler forks. */
static bool fork_there;

static bool fork_in_touch(long nr, const long a[6], long *result)
{
	int status;
	pid_t pid;

	(void)result;
	if (!fork_there || nr != SYS_madvise || a[2] != 23)
		return false;
	fork_there = false;
	pid = (pid_t)seam_kernel(SYS_fork, a);
	if (!pid) {
		spool_forget();
		if (spool_open(dir, CAP))
			_exit(1);
		spool_fact("child", "1");
		if (strcmp(spool.head->facts, "child = 1\n"))
			_exit(2);
		if (spool_prepare(1 << 20) || atomic_load(&spool.head->ready) < (1 << 20))
			_exit(3);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	return false;
}

START_TEST(a_child_goes_on_where_its_parent_was_in_the_middle)
{
	begin();
	ck_assert_int_eq(spool_open(dir, CAP), 0);
	seam = fork_in_touch;
	fork_there = true;
	if (_i)
		spool_prepare(1 << 20);
	else
		spool_fact("parent", "1");
	ck_assert(!fork_there);
}
END_TEST

START_TEST(a_child_is_not_halted_and_hears_when_room_is_low)
{
	begin();
	ck_assert_int_eq(spool_open(dir, CAP), 0);
	spool_halt(true);
	ck_assert_int_eq(spool_prepare(1 << 20), 0);
	ck_assert_uint_eq(atomic_load(&spool.head->ready), SPOOL_HEADER);
	spool_halt(false);
	ck_assert_int_eq(spool_prepare(CAP), 0); /* all: never low again */
	ck_assert(!spool_low());
	spool_halt(true);
	spool_forget();
	ck_assert_int_eq(spool_open(dir, CAP), 0);
	ck_assert(spool_low()); /* nothing is ready: it is told at once */
	ck_assert_int_eq(spool_prepare(1 << 20), 0);
	ck_assert_uint_gt(atomic_load(&spool.head->ready), 1 << 20);
}
END_TEST

/* A handler's child: where its parent wrote lies memory of its own. */
START_TEST(a_handlers_child_writes_to_nobody)
{
	uint64_t at;
	int status;
	pid_t pid;

	begin();
	ck_assert_int_eq(spool_open(dir, CAP), 0);
	at = chunk_take(CHUNK_DATA, CHUNK_LARGE, 1);
	memset(chunk_at(at) + 1, 7, 100);
	pid = fork();
	if (!pid) {
		spool_leave();
		memset(chunk_at(at) + 1, 9, 100);
		_exit(chunk_take(CHUNK_DATA, CHUNK_SMALL, 1) != 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(*(uint8_t *)(chunk_at(at) + 1), 7);
	ck_assert_uint_ne(spool.head->version, 0);
}
END_TEST

START_TEST(a_spool_says_whose_it_is)
{
	char *line;

	begin();
	self_look("/bin/some name");
	ck_assert_int_eq(spool_open(dir, CAP), 0);
	ck_assert_uint_eq(spool.head->pid, sys_pid());
	ck_assert_uint_eq(spool.head->ppid, (uint32_t)getppid());
	ck_assert_uint_eq(spool.head->start_time, sys_start_time(sys_pid()));
	ck_assert_str_eq(spool.head->exe, "some");
	ck_assert_uint_ne(spool.head->pid_ns, 0);
	line = spool.head->boot_id;
	ck_assert_uint_eq(strlen(line), 36);
	ck_assert_uint_eq(spool.head->kept, 1);
}
END_TEST

/* ---- shares, and old kernels ---- */

START_TEST(a_share_is_a_share_and_no_less_than_some_chunks)
{
	uint64_t least = SPOOL_HEADER + 4 * CHUNK_LARGE;

	begin();
	ck_assert_int_eq(spool_open(dir, CAP), 0);
	spool_share(4);
	ck_assert_uint_eq(atomic_load(&spool.head->limit), CAP / 4);
	while (chunk_take(CHUNK_DATA, CHUNK_LARGE, 1))
		;
	ck_assert_uint_eq(atomic_load(&spool.head->used), CAP / 4);
	spool_share(1000);
	ck_assert_uint_eq(atomic_load(&spool.head->limit), least);
}
END_TEST

/* Linux before 5.14; `allocates`: what fallocate says. */
static long allocates;

static bool be_old(long nr, const long a[6], long *result)
{
	*result = nr == SYS_fallocate ? allocates : -EINVAL;
	return (nr == SYS_madvise && a[2] == 23) || (nr == SYS_fallocate && allocates);
}

START_TEST(room_is_written_where_it_cannot_be_asked_for)
{
	struct sys_stat st;
	unsigned open;

	begin();
	seam = be_old;
	allocates = -EOPNOTSUPP;
	ck_assert_int_eq(spool_open(dir, 64 << 20), 0);
	open = seam_open_files();
	errno = 4711;
	ck_assert_int_eq(spool_reserve(1 << 20), 0);
	ck_assert_int_eq(errno, 4711);
	ck_assert_int_eq(sys_stat(spool_path, &st), 0);
	ck_assert_uint_ge(st.blocks * 512, 31u << 20);
	ck_assert_int_eq(spool_reserve(64 << 20), 0);
	ck_assert_uint_eq(atomic_load(&spool.head->reserved), 64 << 20);
	ck_assert_int_eq(sys_stat(spool_path, &st), 0);
	ck_assert_uint_eq(st.size, 64 << 20); /* no more than is mapped */
	ck_assert_uint_eq(seam_open_files(), open);
}
END_TEST

START_TEST(a_full_disk_is_heard_of_by_old_kernels_as_well)
{
	begin();
	seam = be_old;
	ck_assert_int_eq(spool_open(dir, 64 << 20), 0);
	allocates = -ENOSPC;
	ck_assert_int_eq(spool_reserve(1 << 20), -ENOSPC);
	ck_assert_uint_eq(atomic_load(&spool.head->reserved), 1 << 20);
	spool_forget();
	ck_assert_int_eq(spool_place(dir, CAP), -ENOSPC);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core file");

	tcase_add_test(tc, a_file_that_fails_is_not_left);
	tcase_add_test(tc, a_file_larger_than_is_allowed_is_not_made);
	tcase_add_test(tc, memory_is_held_by_a_launcher_or_not_at_all);
	tcase_add_test(tc, a_header_that_cannot_be_written_is_no_spool);
	tcase_add_test(tc, no_page_of_the_header_is_taken_as_read);
	tcase_add_test(tc, a_full_disk_ends_the_spool_behind_what_is_in_use);
	tcase_add_test(tc, facts_end_where_their_room_does);
	tcase_add_loop_test(tc, a_child_goes_on_where_its_parent_was_in_the_middle, 0, 2);
	tcase_add_test(tc, a_child_is_not_halted_and_hears_when_room_is_low);
	tcase_add_test(tc, a_handlers_child_writes_to_nobody);
	tcase_add_test(tc, a_spool_says_whose_it_is);
	tcase_add_test(tc, a_share_is_a_share_and_no_less_than_some_chunks);
	tcase_add_test(tc, room_is_written_where_it_cannot_be_asked_for);
	tcase_add_test(tc, a_full_disk_is_heard_of_by_old_kernels_as_well);
	return unit_run(tc, "core file");
}
