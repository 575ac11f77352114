/* SPDX-License-Identifier: Apache-2.0 */
/* The wait for the command: who else has ended, and when to look again. */
#include "launcher/child.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHERS_MOST 64
#define MS          INT64_C(1000000)

static struct {
	pid_t pid;
	int status;
} others[OTHERS_MOST];
static unsigned ended, ticks;
static pid_t helper; /* told to go by the tick */

static void note_end(pid_t pid, int status)
{
	if (ended < OTHERS_MOST) {
		others[ended].pid = pid;
		others[ended].status = status;
	}
	ended++;
}

static void fresh(void)
{
	ended = ticks = 0;
	helper = 0;
}

static int run_shell(const char *script, const struct child_others *o)
{
	char *argv[] = { "sh", "-c", (char *)script, NULL };
	int status = -1;
	struct child_command c = { "/bin/sh", argv, environ };

	ck_assert_int_eq(child_run(&c, o, &status), 0);
	return status;
}

/* What the shell says of a command that has vanished, and of one that may not be run. */
START_TEST(what_cannot_be_started_has_the_shells_status)
{
	char *argv[] = { "command", NULL };
	struct child_command gone = { "/nowhere/at/all", argv, environ };
	struct child_command folder = { "/tmp", argv, environ };
	int status = -1;

	ck_assert_int_eq(child_run(&gone, NULL, &status), 0);
	ck_assert_int_eq(status, 127 << 8);
	ck_assert_int_eq(child_run(&folder, NULL, &status), 0);
	ck_assert_int_eq(status, 126 << 8);
}
END_TEST

/* Of a signal that leaves no core, too. */
START_TEST(the_launcher_ends_as_the_command_did)
{
	static const int statuses[] = { SIGTERM, SIGKILL, SIGINT, 7 << 8, 0 };
	int status;
	pid_t pid;

	for (unsigned i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
		pid = fork();
		if (!pid)
			child_mimic(statuses[i]);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_int_eq(status, statuses[i]);
	}
}
END_TEST

/* Another child of ours, that waits for its end. */
static pid_t make_helper(int status)
{
	sigset_t set, old;
	pid_t pid;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	pid = fork();
	if (!pid) {
		sigwait(&set, &sig);
		_exit(status);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return pid;
}

START_TEST(the_status_is_the_commands)
{
	const struct child_others o = { note_end, NULL };

	ck_assert_int_eq(run_shell("exit 7", NULL), 7 << 8);
	ck_assert_int_eq(run_shell("exit 7", &o), 7 << 8);
	ck_assert_int_eq(run_shell("kill -USR1 $$", &o), SIGUSR1);
	ck_assert_uint_eq(ended, 0);
}
END_TEST

START_TEST(other_children_are_told_from_it)
{
	const struct child_others o = { note_end, NULL };
	char script[128];
	pid_t one = make_helper(3), two = make_helper(4);

	/* Both are gone before the command is: their status was taken. */
	snprintf(script, sizeof(script),
		 "kill -USR1 %d %d; while kill -0 %d || kill -0 %d; do :; done "
		 "2>/dev/null; exit 9",
		 one, two, one, two);
	ck_assert_int_eq(run_shell(script, &o), 9 << 8);
	ck_assert_uint_eq(ended, 2);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(others[i].status,
				 others[i].pid == one ? 3 << 8 : 4 << 8);
	ck_assert_int_eq(others[0].pid + others[1].pid, one + two);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

START_TEST(orphans_are_reaped)
{
	const struct child_others o = { note_end, NULL };

	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	/* Twenty that end when their parent is gone; the command ends when none is left.
	 */
	/* The command would be one, too: it says no (PR_SET_CHILD_SUBREAPER, 0). */
	ck_assert_int_eq(
		run_shell(
			"exec perl -e 'syscall(157, 36, 0); exec \"sh\", \"-c\", $ARGV[0]' '"
			"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "
			"pids=\"$pids $(sh -c \"(while kill -0 \\$\\$; do :; done) "
			">/dev/null 2>&1 & echo \\$!\")\"; done; "
			"for p in $pids; do while kill -0 $p; do :; done; done "
			"2>/dev/null; exit 5'",
			&o),
		5 << 8);
	ck_assert_uint_eq(ended, 20);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(run_shell("(true & ) ; exit 6", NULL), 6 << 8);
}
END_TEST

/* The command has ended, and nobody knows yet: now somebody sends a signal. */
static void note_end_and_signal(pid_t pid, int status)
{
	siginfo_t info;

	note_end(pid, status);
	ck_assert_int_eq(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
	kill(getpid(), SIGTERM);
	kill(getpid(), SIGRTMIN);
}

START_TEST(what_came_for_a_command_that_has_ended_ends_nobody)
{
	const struct child_others o = { note_end_and_signal, NULL };
	siginfo_t info;

	if (!fork())
		_exit(3);
	ck_assert_int_eq(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(run_shell("exit 4", &o), 4 << 8);
	ck_assert_uint_eq(ended, 1);
}
END_TEST

static int64_t tick_thrice(void)
{
	if (++ticks == 3)
		kill(helper, SIGUSR1);
	return ticks < 3 ? MS : 0;
}

static int64_t tick_never(void)
{
	ticks++;
	return INT64_MAX;
}

START_TEST(a_tick_comes_when_it_asked_for_it)
{
	const struct child_others o = { note_end, tick_thrice };
	char script[128];

	helper = make_helper(1);
	snprintf(script, sizeof(script),
		 "while kill -0 %d 2>/dev/null; do :; done; exit 2", helper);
	/* Nothing but time wakes us before the third tick ends the helper. */
	ck_assert_int_eq(run_shell(script, &o), 2 << 8);
	ck_assert_uint_eq(ended, 1);
	ck_assert_uint_ge(ticks, 4); /* once more after the helper's end */
	ck_assert_uint_le(ticks, 5);
}
END_TEST

START_TEST(no_tick_without_a_reason)
{
	const struct child_others o = { NULL, tick_never };

	ck_assert_int_eq(run_shell("sleep 0.3", &o), 0);
	ck_assert_uint_ge(ticks, 1);
	ck_assert_uint_le(ticks, 2);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("child");

	tcase_add_checked_fixture(tc, fresh, NULL);
	tcase_add_test(tc, the_status_is_the_commands);
	tcase_add_test(tc, what_cannot_be_started_has_the_shells_status);
	tcase_add_test(tc, the_launcher_ends_as_the_command_did);
	tcase_add_test(tc, other_children_are_told_from_it);
	tcase_add_test(tc, orphans_are_reaped);
	tcase_add_test(tc, what_came_for_a_command_that_has_ended_ends_nobody);
	tcase_add_test(tc, a_tick_comes_when_it_asked_for_it);
	tcase_add_test(tc, no_tick_without_a_reason);
	return unit_run(tc, "child");
}
