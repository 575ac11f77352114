/* SPDX-License-Identifier: Apache-2.0 */
/* What the launcher keeps open while the command runs: whoever waits for the end of a
 * pipe must not wait for us. */
#include "launcher/release.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit statuses of the child: what is wrong. */
enum { FINE, KEPT, LOST, STANDARD };

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static bool is_null(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

static void put_at(int fd, int number, int flag)
{
	ck_assert_int_eq(dup3(fd, number, flag), number);
}

/* As a launcher that was started with these. */
static int child(int locked, int pipe_end)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	put_at(locked, 20, 0);
	put_at(pipe_end, 21, 0);
	put_at(pipe_end, 22, O_CLOEXEC);
	put_at(pipe_end, 900, 0);
	put_at(pipe_end, 0, 0);
	put_at(pipe_end, 1, 0);
	put_at(pipe_end, 2, 0);
	if (fcntl(20, F_SETLK, &whole))
		return LOST;
	release_descriptors();
	if (is_open(21) || is_open(900))
		return KEPT;
	if (!is_open(20) || !is_open(22))
		return LOST;
	return is_null(0) && is_null(1) && !is_null(2) ? FINE : STANDARD;
}

/* Its own, what it says, and what holds a lock of the caller's: that would end. */
START_TEST(what_others_wait_for_is_closed)
{
	char path[] = "/tmp/release-XXXXXX";
	int locked = mkstemp(path), ends[2], status;
	pid_t pid;

	ck_assert_int_ge(locked, 0);
	ck_assert_int_eq(pipe(ends), 0);
	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(child(locked, ends[1]));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), FINE);
	unlink(path);
}
END_TEST

/* What is opened next gets none of their numbers; they act as closed ones do. */
START_TEST(what_the_caller_has_closed_stays_so)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		char byte;

		for (int fd = 0; fd <= 2; fd++)
			if (_i >> fd & 1)
				close(fd);
		release_standard();
		for (int fd = 0; fd <= 2; fd++)
			if (_i >> fd & 1 &&
			    (fcntl(fd, F_GETFD) != FD_CLOEXEC || write(fd, "x", 1) >= 0 ||
			     read(fd, &byte, 1) >= 0))
				_exit(LOST);
			else if (!(_i >> fd & 1) && fcntl(fd, F_GETFD))
				_exit(KEPT);
		_exit(open("/dev/null", O_RDONLY) > 2 ? FINE : STANDARD);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("release");

	tcase_add_test(tc, what_others_wait_for_is_closed);
	tcase_add_loop_test(tc, what_the_caller_has_closed_stays_so, 0, 8);
	return unit_run(tc, "release");
}
