/* SPDX-License-Identifier: Apache-2.0 */
/* What a command has of the launcher's process, as if that had become it by exec. */
#include "launcher/inherit.h"
#include "tests/unit/unit.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static char *no_env[] = { NULL };

/* In a child, as the command's is: what `fine` says there. */
static bool given(bool (*fine)(void))
{
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		inherit_give();
		_exit(fine() ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* ---- timers ---- */

static int which;

static bool timer_runs(void)
{
	struct itimerval now;

	return !getitimer(which, &now) && (now.it_value.tv_sec || now.it_value.tv_usec) &&
	       now.it_interval.tv_sec == 5;
}

static bool no_timer_runs(void)
{
	struct itimerval now;

	for (int i = 0; i < 3; i++)
		if (getitimer(i, &now) || now.it_value.tv_sec || now.it_value.tv_usec)
			return false;
	return true;
}

static const struct itimerval values[] = {
	{ { 5, 0 }, { 100, 0 } },
	{ { 5, 0 }, { 100, 500000 } },
	{ { 5, 0 }, { 0, 999999 } },
};

/* Its signal would end the launcher, and the command waits for it; alarm(), too. */
START_TEST(each_timer_goes_to_the_command)
{
	struct itimerval value = values[_i / 3];

	signal(SIGALRM, SIG_IGN); /* a slow machine is late for the short one */
	which = _i % 3;
	ck_assert_int_eq(setitimer(which, &value, NULL), 0);
	inherit_take(no_env);
	ck_assert(no_timer_runs());
	ck_assert(given(timer_runs));
	ck_assert(no_timer_runs());
}
END_TEST

START_TEST(a_timer_that_nobody_set_is_not_set)
{
	inherit_take(no_env);
	ck_assert(given(no_timer_runs));
}
END_TEST

/* ---- orphans ---- */

static int subreaper(void)
{
	int is = -1;

	return prctl(PR_GET_CHILD_SUBREAPER, &is) ? -1 : is;
}

static bool is_subreaper(void)
{
	return subreaper() == 1;
}

static bool is_none(void)
{
	return !subreaper();
}

/* A service manager that becomes the launcher's command reaps as before. */
START_TEST(a_subreaper_stays_one)
{
	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	inherit_take(no_env);
	ck_assert(given(is_subreaper));
}
END_TEST

START_TEST(nobody_becomes_a_subreaper)
{
	inherit_take(no_env);
	ck_assert(given(is_none));
}
END_TEST

/* ---- scheduling ---- */

static bool is_batch_still(void)
{
	int policy = sched_getscheduler(0);

	return policy == (SCHED_BATCH | SCHED_RESET_ON_FORK);
}

static bool is_plain(void)
{
	return !(sched_getscheduler(0) & SCHED_RESET_ON_FORK);
}

START_TEST(a_flag_that_a_fork_resets)
{
	const struct sched_param zero = { 0 };

	ck_assert_int_eq(sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &zero),
			 0);
	inherit_take(no_env);
	ck_assert(given(is_batch_still));
}
END_TEST

START_TEST(a_flag_that_nobody_set)
{
	inherit_take(no_env);
	ck_assert(given(is_plain));
}
END_TEST

/* ---- variables that name the process ---- */

static char *env[5];

static bool says_its_own(void)
{
	char want[3][64];

	snprintf(want[0], sizeof(want[0]), "LISTEN_PID=%d", (int)getpid());
	snprintf(want[1], sizeof(want[1]), "WATCHDOG_PID=%d", (int)getpid());
	snprintf(want[2], sizeof(want[2]), "SYSTEMD_EXEC_PID=%d", (int)getpid());
	return !strcmp(env[0], want[0]) && !strcmp(env[1], "A=b") &&
	       !strcmp(env[2], want[1]) && !strcmp(env[3], want[2]) && !env[4];
}

START_TEST(pids_of_the_launcher_become_the_commands)
{
	char text[3][64];

	snprintf(text[0], sizeof(text[0]), "LISTEN_PID=%d", (int)getpid());
	snprintf(text[1], sizeof(text[1]), "WATCHDOG_PID=%d", (int)getpid());
	snprintf(text[2], sizeof(text[2]), "SYSTEMD_EXEC_PID=%d", (int)getpid());
	memcpy(env, (char *[]){ text[0], "A=b", text[1], text[2], NULL }, sizeof(env));
	inherit_take(env);
	ck_assert(given(says_its_own));
}
END_TEST

static char other[64];

static bool says_the_others(void)
{
	return !strcmp(env[0], other) && !strcmp(env[1], "XLISTEN_PID=1") && !env[2];
}

/* Meant for another process: its sockets are not the command's. */
START_TEST(pids_of_others_stay)
{
	snprintf(other, sizeof(other), "LISTEN_PID=%d0", (int)getpid());
	memcpy(env, (char *[]){ other, "XLISTEN_PID=1", NULL }, 3 * sizeof(*env));
	inherit_take(env);
	ck_assert(given(says_the_others));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("inherit");

	tcase_add_loop_test(tc, each_timer_goes_to_the_command, 0, 9);
	tcase_add_test(tc, a_timer_that_nobody_set_is_not_set);
	tcase_add_test(tc, a_subreaper_stays_one);
	tcase_add_test(tc, nobody_becomes_a_subreaper);
	tcase_add_test(tc, a_flag_that_a_fork_resets);
	tcase_add_test(tc, a_flag_that_nobody_set);
	tcase_add_test(tc, pids_of_the_launcher_become_the_commands);
	tcase_add_test(tc, pids_of_others_stay);
	return unit_run(tc, "inherit");
}
