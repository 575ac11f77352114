/* SPDX-License-Identifier: Apache-2.0 */
/* What of a signal reaches the command: once, and as it was sent. */
#include "launcher/forward.h"
#include "launcher/group.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static enum group_answer answer; /* the witness's */
static sigset_t all;
static pid_t command;

enum group_answer group_got(int sig)
{
	(void)sig;
	return answer;
}

/* The command says by its status what it has got: the value of a queued signal, the
 * number of another one; 0 = nothing. SIGUSR2 is the test's. */
static void run_command(void)
{
	siginfo_t info;
	int got = 0;

	while (sigwaitinfo(&all, &info) != SIGUSR2)
		got = info.si_code == SI_QUEUE ? info.si_value.sival_int : info.si_signo;
	if (sigwaitinfo(&all, &info) > 0)
		_exit(got);
}

static void begin(void)
{
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	answer = GROUP_UNKNOWN;
	forward_start();
	command = fork();
	if (!command)
		run_command();
}

/* Signals of one process come in any order: those below SIGUSR2 come before it. */
static int command_got(void)
{
	int status = -1;

	kill(command, SIGUSR2);
	kill(command, SIGTERM);
	ck_assert_int_eq(waitpid(command, &status, 0), command);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static siginfo_t sent(int sig, int code)
{
	siginfo_t info = { .si_signo = sig, .si_code = code };

	info.si_pid = code == SI_KERNEL ? 0 : 1;
	return info;
}

/* ^C: the kernel has given it to the whole group. */
START_TEST(what_a_terminal_sends_comes_once)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGHUP };
	siginfo_t info = sent(signals[_i], SI_KERNEL);

	ck_assert_int_ne(getsid(0), getpid());
	forward_signal(command, &info);
	ck_assert_int_eq(command_got(), 0);
}
END_TEST

START_TEST(what_the_group_has_got_comes_once)
{
	static const int signals[] = { SIGINT, SIGUSR1, SIGHUP };
	siginfo_t info = sent(signals[_i], SI_USER);

	answer = GROUP_YES;
	forward_signal(command, &info);
	ck_assert_int_eq(command_got(), 0);
}
END_TEST

/* A launcher in a process of its own, which may lead a group; the command leads one. */
static void forward_apart(const siginfo_t *info, bool leads)
{
	pid_t launcher;

	ck_assert_int_eq(setpgid(command, command), 0);
	launcher = fork();
	if (!launcher) {
		if (leads)
			setpgid(0, 0);
		forward_signal(command, info);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(launcher, NULL, 0), launcher);
}

/* Without the launcher the leader would have been the command, which cannot leave. */
START_TEST(who_left_the_group_gets_what_a_leader_gets)
{
	siginfo_t info = sent(SIGINT, SI_USER);

	answer = GROUP_YES;
	forward_apart(&info, _i);
	ck_assert_int_eq(command_got(), _i ? SIGINT : 0);
}
END_TEST

/* The leader of a session gets its terminal's end alone; the command is in its group. */
START_TEST(a_session_s_end_is_its_leader_s)
{
	siginfo_t info = sent(SIGHUP, SI_KERNEL);
	pid_t launcher = fork();
	int status;

	if (!launcher) {
		setsid();
		begin();
		forward_signal(command, &info);
		_exit(command_got());
	}
	ck_assert_int_eq(waitpid(launcher, &status, 0), launcher);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), SIGHUP);
	ck_assert_int_eq(command_got(), 0);
}
END_TEST

START_TEST(what_is_for_the_launcher_alone_is_handed_on)
{
	siginfo_t info = sent(SIGINT, SI_USER);

	answer = _i ? GROUP_UNKNOWN : GROUP_NO;
	forward_signal(command, &info);
	ck_assert_int_eq(command_got(), SIGINT);
}
END_TEST

START_TEST(a_value_is_handed_on)
{
	siginfo_t info = sent(SIGUSR1, SI_QUEUE);

	answer = GROUP_NO;
	info.si_value.sival_int = 42;
	forward_signal(command, &info);
	ck_assert_int_eq(command_got(), 42);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("forward");

	tcase_add_checked_fixture(tc, begin, NULL);
	tcase_add_loop_test(tc, what_a_terminal_sends_comes_once, 0, 3);
	tcase_add_loop_test(tc, what_the_group_has_got_comes_once, 0, 3);
	tcase_add_loop_test(tc, who_left_the_group_gets_what_a_leader_gets, 0, 2);
	tcase_add_test(tc, a_session_s_end_is_its_leader_s);
	tcase_add_loop_test(tc, what_is_for_the_launcher_alone_is_handed_on, 0, 2);
	tcase_add_test(tc, a_value_is_handed_on);
	return unit_run(tc, "forward");
}
