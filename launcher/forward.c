/* SPDX-License-Identifier: Apache-2.0 */
/* Which process gets a signal that the launcher got: none, when the signal is about the
 * launcher itself, or went to the whole group and the command has had it as a member; the
 * launcher's caller, when the command or a process below it sent the signal to its
 * parent; else the command. In doubt the command gets it: a signal that comes twice is
 * less bad than one that ends only the launcher. */
#include "launcher/forward.h"
#include "base/sys.h"
#include "launcher/group.h"

#include <stdbool.h>
#include <unistd.h>

/* How far up the line of parents is followed: pids that were given out again meanwhile
 * could make it a loop. */
#define GENERATIONS 64

static pid_t caller;

void forward_start(void)
{
	caller = getppid();
}

/* Did a process send it, by kill, sigqueue or tgkill? All other signals are the
 * kernel's. */
static bool is_sent(const siginfo_t *info)
{
	return info->si_code == SI_USER || info->si_code == SI_QUEUE ||
	       info->si_code == SI_TKILL;
}

/* Is `pid` the command, or a process below it? */
static bool is_command_or_below(pid_t pid, pid_t command)
{
	uint32_t at = (uint32_t)pid, parent;
	uint64_t start;

	for (unsigned i = 0; pid > 1 && i < GENERATIONS; i++) {
		if (at == (uint32_t)command)
			return true;
		if (at <= 1 || sys_identity(at, &parent, &start))
			return false;
		at = parent;
	}
	return false;
}

/* Signals about the launcher: of its own writes and limits, and of its children. */
static bool is_about_us(const siginfo_t *info, pid_t command)
{
	uint32_t parent = 0;
	uint64_t start;

	if (is_sent(info) && info->si_pid == getpid())
		return true;
	if (info->si_signo == SIGXCPU || info->si_signo == SIGXFSZ)
		return info->si_code == SI_KERNEL;
	if (info->si_signo != SIGCHLD)
		return false;
	if (!is_sent(info) || !info->si_pid)
		return true;
	return info->si_pid != command &&
	       (sys_identity((uint32_t)info->si_pid, &parent, &start) ||
		parent == (uint32_t)getpid());
}

/* A terminal's signals come from the kernel and go to the group. A timer's or a
 * descriptor's signal comes from there, too, but to the launcher alone; so does a
 * terminal's end to the leader of its session. */
static bool is_terminals(const siginfo_t *info)
{
	switch (info->si_signo) {
	case SIGHUP:
	case SIGCONT:
		return getsid(0) != getpid();
	case SIGINT:
	case SIGQUIT:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
	case SIGWINCH:
		return true;
	default:
		return false;
	}
}

static bool is_for_group(const siginfo_t *info, bool below)
{
	enum group_answer got;

	if (!is_sent(info))
		return info->si_code == SI_KERNEL && is_terminals(info);
	got = group_got(info->si_signo);
	if (got != GROUP_UNKNOWN)
		return got == GROUP_YES;
	return below && getpgid(info->si_pid) == getpgrp();
}

/* sigqueue's value goes with the signal; the sender's pid cannot: it becomes the
 * launcher's. */
static void send_on(pid_t to, const siginfo_t *info)
{
	if (info->si_code == SI_QUEUE)
		sigqueue(to, info->si_signo, info->si_value);
	else
		kill(to, info->si_signo);
}

void forward_signal(pid_t command, const siginfo_t *info)
{
	/* Looks at the sender at once: it may end, and its pid go to another process. */
	bool below = is_sent(info) && is_command_or_below(info->si_pid, command);

	if (is_about_us(info, command))
		return;
	if (is_for_group(info, below)) {
		/* A command in the group has had the signal. A command in another group
		 * would have stayed in this one, had it been the group's leader in the
		 * launcher's place. */
		if (getpgid(command) != getpgrp() && getpgrp() == getpid())
			send_on(command, info);
		return;
	}
	if (!below)
		send_on(command, info);
	/* A sender below means its parent: without the launcher that is the launcher's
	 * caller. */
	else if (caller > 0 && caller == getppid())
		send_on(caller, info);
}
