/* SPDX-License-Identifier: Apache-2.0 */
/* The witness: has a signal gone to the launcher alone, or to its group? */
#include "base/sys.h"
#include "launcher/group.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static sigset_t blocked;

/* A group of our own, so that nobody else gets what is sent to it. */
static void begin(void)
{
	ck_assert(getpgrp() == getpid() || !setpgid(0, 0));
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigaddset(&blocked, SIGUSR2);
	sigaddset(&blocked, SIGRTMAX);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	group_start();
}

static void end(void)
{
	group_end();
}

/* As the launcher takes it. A witness without a processor for 0.1 s does not answer, and
 * has taken it by the next time. */
static enum group_answer got(int sig, bool all)
{
	enum group_answer answer;

	do {
		ck_assert_int_eq(all ? kill(0, sig) : kill(getpid(), sig), 0);
		ck_assert_int_eq(sigwaitinfo(&blocked, NULL), sig);
		answer = group_got(sig);
	} while (answer == GROUP_UNKNOWN);
	return answer;
}

START_TEST(the_group_or_the_launcher)
{
	ck_assert_int_eq(got(SIGUSR1, true), GROUP_YES);
	ck_assert_int_eq(got(SIGUSR2, false), GROUP_NO);
	ck_assert_int_eq(got(SIGRTMAX, true), GROUP_YES);
}
END_TEST

/* Of one kind: what the group had before says nothing of what comes long after. */
START_TEST(each_time_anew)
{
	ck_assert_int_eq(got(SIGUSR1, true), GROUP_YES);
	sys_nap(300000000); /* older than what counts as one with the next */
	ck_assert_int_eq(got(SIGUSR1, false), GROUP_NO);
}
END_TEST

START_TEST(without_a_witness_nobody_knows)
{
	group_end();
	ck_assert_int_eq(group_got(SIGUSR1), GROUP_UNKNOWN);
}
END_TEST

/* ---- who it is ---- */

static pid_t only_child(pid_t of)
{
	char path[64], text[256] = "";

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)of, (int)of);
	return sys_read_file(path, text, sizeof(text)) > 0 ? atoi(text) : 0;
}

/* Until it says its own name; the program is forked under a pid that we know. */
START_TEST(it_is_not_found_by_the_commands_words)
{
	char path[64], mine[4096] = "", text[4096];
	long n;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)only_child(getpid()));
	got(SIGUSR1, true); /* it has answered: its name is set */
	ck_assert_int_gt(sys_read_file("/proc/self/cmdline", mine, sizeof(mine)), 0);
	n = sys_read_file(path, text, sizeof(text));
	ck_assert_int_gt(n, 0);
	ck_assert_str_eq(text, strlen(mine) >= sizeof("job-group") ? "job-group" : "");
	for (long i = (long)strlen(text); i < n; i++)
		ck_assert_int_eq(text[i], 0);
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)only_child(getpid()));
	ck_assert_int_gt(sys_read_file(path, text, sizeof(text)), 0);
	ck_assert_str_eq(text, "job-group\n");
}
END_TEST

/* One that is killed cannot take it along itself. */
START_TEST(it_goes_with_its_launcher)
{
	int pipe_ends[2];
	pid_t pid, orphan = 0;
	int status;

	group_end();
	ck_assert_int_eq(pipe(pipe_ends), 0);
	pid = fork();
	if (!pid) {
		pid_t its;

		group_start();
		got(SIGUSR1, true);
		its = only_child(getpid());
		if (write(pipe_ends[1], &its, sizeof(its)) != sizeof(its))
			_exit(1);
		pause();
	}
	ck_assert_int_eq(read(pipe_ends[0], &orphan, sizeof(orphan)), sizeof(orphan));
	ck_assert_int_gt(orphan, 0);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	/* It is ours now; one that stays is waited for until the test is too late. */
	ck_assert_int_eq(waitpid(orphan, &status, 0), orphan);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("group");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, the_group_or_the_launcher);
	tcase_add_test(tc, each_time_anew);
	tcase_add_test(tc, without_a_witness_nobody_knows);
	tcase_add_test(tc, it_is_not_found_by_the_commands_words);
	tcase_add_test(tc, it_goes_with_its_launcher);
	return unit_run(tc, "group");
}
