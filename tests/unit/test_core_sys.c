/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's answers: short ones, interrupted ones, those of old kernels. */
#include "base/sys.h"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>

/* ---- reading and writing ---- */

static unsigned interrupted;

/* Each call is interrupted twice, then does three bytes at most. */
static bool little_at_a_time(long nr, const long a[6], long *result)
{
	long b[6];

	if (nr != SYS_read && nr != SYS_pread64 && nr != SYS_write && nr != SYS_pwrite64)
		return false;
	memcpy(b, a, sizeof(b));
	b[2] = a[2] < 3 ? a[2] : 3;
	*result = interrupted++ % 3 < 2 ? -EINTR : seam_kernel(nr, b);
	return true;
}

START_TEST(signals_and_full_pipes_change_nothing)
{
	static const char text[] = "what is written is what is read";
	char back[64] = "", dir[] = "/tmp/unit-XXXXXX", path[64];
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	seam = little_at_a_time;
	errno = 4711;
	fd = sys_open(path, O_RDWR | O_CREAT, 0600);
	ck_assert_int_eq(sys_write_all(fd, text, sizeof(text) - 1), 0);
	ck_assert_int_eq(sys_pwrite_all(fd, text, sizeof(text) - 1, 100), 0);
	ck_assert_int_eq(sys_pread(fd, back, 3, 0), 3);
	ck_assert_str_eq(back, "wha");
	ck_assert_int_eq(sys_read(fd, back, 3), 3);
	sys_close(fd);
	ck_assert_int_eq(sys_read_file(path, back, sizeof(text)), sizeof(text) - 1);
	ck_assert_str_eq(back, text);
	ck_assert_int_eq(errno, 4711);
	seam = NULL;
	fd = open(path, O_RDONLY);
	ck_assert_int_eq(pread(fd, back, 64, 100), sizeof(text) - 1);
	ck_assert_str_eq(back, text);
}
END_TEST

START_TEST(a_file_as_long_as_its_buffer_has_an_end)
{
	char buf[9] = "01234567", dir[] = "/tmp/unit-XXXXXX", path[64];
	unsigned open = seam_open_files();
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = sys_open(path, O_RDWR | O_CREAT, 0600);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(sys_write_all(fd, "abcdefgh", 8), 0);
	sys_close(fd);
	ck_assert_int_eq(sys_read_file(path, buf, 4), 3);
	ck_assert_str_eq(buf, "abc");
	ck_assert_int_eq(buf[4], '4');
	ck_assert_int_eq(sys_read_file(path, buf, 8), 7);
	ck_assert_str_eq(buf, "abcdefg");
	ck_assert_int_eq(buf[8], 0);
	ck_assert_int_eq(sys_read_file(dir, buf, 8), -EISDIR);
	ck_assert_uint_eq(seam_open_files(), open);
	fd = sys_open_at(AT_FDCWD, path, O_RDONLY);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
}
END_TEST

/* ---- files ---- */

START_TEST(stat_tells_what_the_c_library_tells)
{
	char path[] = "/tmp/unit-XXXXXX";
	int fd = mkstemp(path);
	struct sys_stat ours;
	struct stat libc;

	ck_assert_int_eq(write(fd, path, 10), 10);
	ck_assert_int_eq(fchmod(fd, 0640), 0);
	ck_assert_int_eq(futimens(fd, (struct timespec[2]){ { 5, 7 }, { 123, 456789 } }),
			 0);
	ck_assert_int_eq(stat(path, &libc), 0);
	ck_assert_int_eq(sys_fstat(fd, &ours), 0);
	ck_assert_uint_eq(ours.mode, libc.st_mode);
	ck_assert_uint_eq(ours.uid, libc.st_uid);
	ck_assert_uint_eq(ours.gid, libc.st_gid);
	ck_assert_uint_eq(ours.size, 10);
	ck_assert_uint_eq(ours.ino, libc.st_ino);
	ck_assert_uint_eq(ours.dev, libc.st_dev);
	ck_assert_uint_eq(ours.links, 1);
	ck_assert_uint_eq(ours.blocks, (uint64_t)libc.st_blocks);
	ck_assert_int_eq(ours.mtime_ns, 123000456789);
	ck_assert_int_eq(ours.ctime_ns,
			 libc.st_ctim.tv_sec * 1000000000 + libc.st_ctim.tv_nsec);
}
END_TEST

START_TEST(a_log_directory_is_one)
{
	char dir[] = "/tmp/unit-XXXXXX", path[64];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	ck_assert_int_eq(sys_mkdirs(path, 0700), -ENOTDIR);
	ck_assert_int_eq(sys_mkdirs(dir, 0700), 0);
	ck_assert_int_eq(sys_mkdirs("/", 0700), 0);
	strcat(path, "s/a//b/");
	ck_assert_int_eq(sys_mkdirs(path, 0700), 0);
}
END_TEST

START_TEST(a_limit_itself_is_not_beyond_it)
{
	struct rlimit limit = { 4096, RLIM_INFINITY };

	ck_assert(sys_may_grow(UINT64_MAX));
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert(sys_may_grow(4096));
	ck_assert(!sys_may_grow(4097));
}
END_TEST

START_TEST(no_standard_descriptor_is_ours)
{
	for (int low = 0; low <= STDERR_FILENO; low++) {
		int saved = dup(low), fd;

		close(low);
		fd = sys_open_high("/dev/null", O_RDONLY, 0);
		ck_assert_int_gt(fd, STDERR_FILENO);
		ck_assert_int_lt(fcntl(low, F_GETFD), 0);
		ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
		sys_close(fd);
		dup2(saved, low);
		close(saved);
	}
	ck_assert_int_eq(sys_above_standard(-ENOENT), -ENOENT);
}
END_TEST

/* ---- who we are ---- */

START_TEST(a_name_may_hold_brackets)
{
	static const char *const names[] = { "plain", "a) b (c", ")", "x) S 1 2 3 4" };
	uint32_t parent;
	uint64_t start;

	ck_assert_int_eq(prctl(PR_SET_NAME, names[_i], 0, 0, 0), 0);
	ck_assert_int_eq(sys_identity(0, &parent, &start), 0);
	ck_assert_uint_eq(parent, (uint32_t)getppid());
	prctl(PR_SET_NAME, "plain", 0, 0, 0);
	ck_assert_uint_eq(sys_start_time(sys_pid()), start);
	ck_assert_int_eq(sys_identity(0x7ffffff0, &parent, &start), -ENOENT);
	ck_assert_uint_eq(parent + start, 0);
}
END_TEST

static const char *host;

static bool say_host(long nr, const long a[6], long *result)
{
	struct utsname *name = (struct utsname *)a[0];

	*result = host ? 0 : -EPERM;
	if (nr == SYS_uname && host)
		strcpy(name->nodename, host);
	return nr == SYS_uname;
}

START_TEST(a_host_is_a_part_of_a_file_name)
{
	char buf[8];

	seam = say_host;
	host = "a/b c_\xc3\xa4";
	sys_host(buf, sizeof(buf));
	ck_assert_str_eq(buf, "a-b-c--");
	host = "N0.x";
	sys_host(buf, sizeof(buf));
	ck_assert_str_eq(buf, "N0.x");
	host = "";
	sys_host(buf, sizeof(buf));
	ck_assert_str_eq(buf, "localho");
	host = NULL;
	sys_host(buf, sizeof(buf));
	ck_assert_str_eq(buf, "localho");
}
END_TEST

/* ---- waiting ---- */

static struct timespec waited;
static bool endless;
static long operation, woken;

static bool note_wait(long nr, const long a[6], long *result)
{
	if (nr != SYS_futex && nr != SYS_nanosleep)
		return false;
	operation = (int)a[1];
	woken = a[2];
	if (nr == SYS_nanosleep)
		waited = *(struct timespec *)a[0];
	endless = nr == SYS_futex && !a[3];
	if (nr == SYS_futex && a[3])
		waited = *(struct timespec *)a[3];
	*result = -ETIMEDOUT;
	return true;
}

START_TEST(waits_are_in_nanoseconds)
{
	_Atomic uint32_t word = 7;

	seam = note_wait;
	ck_assert_int_eq(sys_futex_wait(&word, 7, 1500000001), -ETIMEDOUT);
	ck_assert(waited.tv_sec == 1 && waited.tv_nsec == 500000001 && !endless);
	ck_assert_int_eq(operation, FUTEX_WAIT_PRIVATE);
	sys_futex_wait(&word, 7, -1);
	ck_assert(endless);
	sys_futex_wait_all(&word, 7, 2999999999);
	ck_assert(waited.tv_sec == 2 && waited.tv_nsec == 999999999 && !endless);
	ck_assert_int_eq(operation, FUTEX_WAIT);
	sys_futex_wait_all(&word, 7, -1);
	ck_assert(endless);
	sys_futex_wake(&word);
	ck_assert(operation == FUTEX_WAKE_PRIVATE && woken == INT32_MAX);
	sys_futex_wake_all(&word);
	ck_assert(operation == FUTEX_WAKE && woken == INT32_MAX);
	sys_nap(3000000004);
	ck_assert(waited.tv_sec == 3 && waited.tv_nsec == 4);
}
END_TEST

/* ---- confined ---- */

static unsigned asked;

static bool count_calls(long nr, const long a[6], long *result)
{
	(void)nr;
	(void)a;
	(void)result;
	asked++;
	return false;
}

START_TEST(who_is_confined_asks_for_nothing)
{
	uint32_t pid = sys_pid(), tid = sys_tid();
	struct sys_stat st;

	ck_assert_uint_eq(pid, (uint32_t)getpid());
	sys_confine();
	seam = count_calls;
	errno = 4711;
	ck_assert_uint_eq(sys_pid(), pid);
	ck_assert(sys_tid() == tid || !sys_tid());
	ck_assert_int_eq(sys_stat("/", &st), -EPERM);
	ck_assert_int_eq(sys_open("/", O_RDONLY, 0), -EPERM);
	ck_assert_ptr_null(sys_map(4096));
	sys_nap(1);
	ck_assert_int_eq(errno, 4711);
	ck_assert_uint_eq(asked, 0);
}
END_TEST

/* Another thread has forbidden all system calls meanwhile. */
START_TEST(who_was_blocked_before_is_free_again)
{
	uint64_t mask, none;

	sys_block_all_signals(&mask);
	sys_confine();
	sys_restore_signals(mask);
	sys_block_all_signals(&none); /* does nothing, and says so */
	sys_restore_signals(none);
	sys_unconfine();
	sys_block_all_signals(&none);
	ck_assert_uint_eq(none, mask);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core sys");

	tcase_add_test(tc, who_was_blocked_before_is_free_again);
	tcase_add_test(tc, signals_and_full_pipes_change_nothing);
	tcase_add_test(tc, a_file_as_long_as_its_buffer_has_an_end);
	tcase_add_test(tc, stat_tells_what_the_c_library_tells);
	tcase_add_test(tc, a_log_directory_is_one);
	tcase_add_test(tc, a_limit_itself_is_not_beyond_it);
	tcase_add_test(tc, no_standard_descriptor_is_ours);
	tcase_add_loop_test(tc, a_name_may_hold_brackets, 0, 4);
	tcase_add_test(tc, a_host_is_a_part_of_a_file_name);
	tcase_add_test(tc, waits_are_in_nanoseconds);
	tcase_add_test(tc, who_is_confined_asks_for_nothing);
	return unit_run(tc, "core sys");
}
