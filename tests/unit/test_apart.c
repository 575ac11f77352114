/* SPDX-License-Identifier: Apache-2.0 */
/* What a finisher keeps of the process it was forked from, and what it gives up. */
#include "base/sys.h"
#include "finisher/apart.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit statuses of the child: what is wrong. */
enum { FINE, KEPT, LOST, SCORE, LINES, MASK, CORE, SESSION };

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static long oom_score(void)
{
	char text[32] = "";

	sys_read_file("/proc/self/oom_score_adj", text, sizeof(text));
	return strtol(text, NULL, 10);
}

/* A descriptor with that number. */
static int at(int number)
{
	int fd = open("/dev/null", O_RDWR);

	ck_assert_int_eq(dup2(fd, number), number);
	close(fd);
	return number;
}

static int child(struct finish *f)
{
	struct rlimit core;
	sigset_t mask;

	apart_start(f);
	if (is_open(40) || is_open(900))
		return KEPT;
	if (!is_open(f->traces) || !is_open(f->spools) || !is_open(f->held[0]) ||
	    !is_open(f->held[2]))
		return LOST;
	if (oom_score() != 1000)
		return SCORE;
	if (write(STDERR_FILENO, "a line", 6) != 6)
		return LINES;
	sigprocmask(SIG_SETMASK, NULL, &mask);
	if (sigismember(&mask, SIGUSR1))
		return MASK;
	getrlimit(RLIMIT_CORE, &core);
	if (core.rlim_cur)
		return CORE;
	return getsid(0) == getpid() ? FINE : SESSION;
}

START_TEST(it_keeps_what_it_needs)
{
	int held[] = { at(60), -1, at(70) }, lines[2], status;
	struct finish f = { .held = held, .held_n = 3 };
	char text[16] = "";
	sigset_t mask;
	pid_t pid;

	ck_assert_int_eq(pipe(lines), 0);
	f.lines = lines[1];
	f.traces = at(50);
	f.spools = at(65);
	at(40);
	at(900);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	pid = fork();
	if (!pid)
		_exit(child(&f));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), FINE);
	ck_assert_int_eq(read(lines[0], text, sizeof(text) - 1), 6);
	ck_assert_str_eq(text, "a line");
}
END_TEST

/* Alone it writes to a log, and nobody waits for the ends of its pipes. */
START_TEST(alone_it_has_a_log)
{
	char dir[] = "/tmp/apart-XXXXXX", path[64], text[16] = "";
	static struct config config;
	int traces[2], status, fd;
	struct finish f = { .config = &config, .spools = -1 };
	pid_t pid;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(config.logdir, sizeof(config.logdir), "%s", dir);
	ck_assert_int_eq(pipe(traces), 0);
	f.traces = traces[1];
	pid = fork();
	if (!pid) {
		apart_linger(&f);
		_exit(write(STDERR_FILENO, "said", 4) != 4 || !is_open(f.traces));
	}
	close(traces[1]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(read(traces[0], text, 1), 0);
	snprintf(path, sizeof(path), "%s/proflaunch.log", dir);
	fd = open(path, O_RDONLY);
	ck_assert_int_eq(read(fd, text, sizeof(text) - 1), 4);
	ck_assert_str_eq(text, "said");
	close(fd);
	unlink(path);
	rmdir(dir);
}
END_TEST

/* A pipe of somebody else, with or without a reader. */
START_TEST(a_pipe_is_no_log)
{
	char dir[] = "/tmp/apart-XXXXXX", path[64], text[16];
	static struct config config;
	struct finish f = { .config = &config, .traces = -1, .spools = -1 };
	int status, reader = -1;
	pid_t pid;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(config.logdir, sizeof(config.logdir), "%s", dir);
	snprintf(path, sizeof(path), "%s/proflaunch.log", dir);
	ck_assert_int_eq(mkfifo(path, 0666), 0);
	if (_i)
		reader = open(path, O_RDONLY | O_NONBLOCK);
	pid = fork();
	if (!pid) {
		apart_linger(&f);
		_exit(write(STDERR_FILENO, "said", 4) != 4);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_le(read(reader, text, sizeof(text)), 0);
	unlink(path);
	rmdir(dir);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("apart");

	tcase_add_test(tc, it_keeps_what_it_needs);
	tcase_add_test(tc, alone_it_has_a_log);
	tcase_add_loop_test(tc, a_pipe_is_no_log, 0, 2);
	return unit_run(tc, "finisher apart");
}
