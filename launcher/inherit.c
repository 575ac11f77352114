/* SPDX-License-Identifier: Apache-2.0 */
/* Things that a process keeps over an exec, but does not give to a child: interval
 * timers, a policy with SCHED_RESET_ON_FORK, being a subreaper. Without a launcher the
 * command would be the very process that has them, so they are read here and set again in
 * the child before its exec. The launcher's own timers are stopped, for their signals
 * would end it. */
#include "launcher/inherit.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define TIMERS     3 /* ITIMER_REAL, VIRTUAL, PROF */
#define RESET_FLAG 1 /* SCHED_FLAG_RESET_ON_FORK */

struct schedule { /* the kernel's struct sched_attr, its first version */
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* A program that finds another pid than its own in these takes no notice of them: then
 * sockets of systemd are not used, and its watchdog is not fed. */
static const char *const pid_names[] = { "LISTEN_PID", "WATCHDOG_PID",
					 "SYSTEMD_EXEC_PID" };
#define PID_NAMES (sizeof(pid_names) / sizeof(*pid_names))

static struct itimerval timers[TIMERS];
static struct schedule schedule;
static int subreaper;
static struct {
	char **entry; /* NULL: the row is not there, or names another process */
	char text[48];
} pids[PID_NAMES];

static void find_pids(char **env)
{
	char own[48];

	for (; env && *env; env++) {
		for (size_t i = 0; i < PID_NAMES; i++) {
			snprintf(own, sizeof(own), "%s=%d", pid_names[i], (int)getpid());
			if (!strcmp(*env, own))
				pids[i].entry = env;
		}
	}
}

void inherit_take(char **env)
{
	const struct itimerval none = { 0 };

	for (int i = 0; i < TIMERS; i++)
		if (getitimer(i, &timers[i]) || setitimer(i, &none, NULL))
			timers[i] = none;
	schedule.size = 0;
	/* Only a policy that a fork resets is given: the child has any other already. */
	if (syscall(SYS_sched_getattr, 0, &schedule, sizeof(schedule), 0) ||
	    !(schedule.flags & RESET_FLAG))
		schedule.size = 0;
	if (prctl(PR_GET_CHILD_SUBREAPER, &subreaper))
		subreaper = 0;
	find_pids(env);
}

void inherit_give(void)
{
	for (int i = 0; i < TIMERS; i++)
		if (timers[i].it_value.tv_sec || timers[i].it_value.tv_usec)
			setitimer(i, &timers[i], NULL);
	if (schedule.size)
		syscall(SYS_sched_setattr, 0, &schedule, 0);
	if (subreaper)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (size_t i = 0; i < PID_NAMES; i++) {
		if (!pids[i].entry)
			continue;
		snprintf(pids[i].text, sizeof(pids[i].text), "%s=%d", pid_names[i],
			 (int)getpid());
		/* The row changes in place: the launcher made the environment, and a
		 * child of vfork must not allocate. */
		*pids[i].entry = pids[i].text;
	}
}
