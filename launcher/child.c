/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher stands between a shell and its command, and neither may notice: the
 * command has the caller's signal mask, dispositions and descriptors, gets each signal
 * once, stops when the job is stopped, and ends the launcher as it ends. All signals are
 * blocked while the command runs, and the launcher takes them one at a time by
 * sigwaitinfo: no handler of its own ever runs, and no signal is lost between two system
 * calls. */
#include "launcher/child.h"
#include "base/sys.h"
#include "launcher/forward.h"
#include "launcher/group.h"
#include "launcher/inherit.h"
#include "launcher/say.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static sigset_t watched; /* all signals that can be blocked, ignored ones, too */
static sigset_t old_mask;
static char **shell; /* argv for /bin/sh; NULL: it is not used */
static struct sigaction old_child;

static void ignore_signal(int sig)
{
	(void)sig;
}

/* Blocks signals, so that they wait for wait_for and none is lost between fork and there.
 * Those that the launcher ignores (nohup) the command may still handle. */
static void signals_take(void)
{
	struct sigaction act = { .sa_handler = SIG_DFL };

	sigfillset(&watched);
	sigdelset(&watched, SIGKILL);
	sigdelset(&watched, SIGSTOP);
	sigprocmask(SIG_BLOCK, &watched, &old_mask);
	/* An inherited SIG_IGN would reap the program before we see its status. */
	sigaction(SIGCHLD, &act, &old_child);
}

static void signals_give_back(void)
{
	/* The caller may have ignored SIGCHLD: the command inherits that, too. */
	sigaction(SIGCHLD, &old_child, NULL);
	sigprocmask(SIG_SETMASK, &old_mask, NULL);
}

/* Makes argv for /bin/sh, as a shell starts a script without a #! line; the shell's name
 * takes the place of argv[0]. It is made before there is a second process, for the two
 * share memory. */
static void make_shell(const struct child_command *c)
{
	size_t n = 0;

	while (c->argv[n])
		n++;
	shell = calloc(n + 2, sizeof(*shell));
	if (!shell)
		return;
	shell[0] = "sh";
	shell[1] = (char *)c->path;
	for (size_t i = 1; i < n; i++)
		shell[i + 1] = c->argv[i];
}

/* SIGKILL to the launcher, which cannot hand it on, is meant for the job: it ends the
 * command, too. */
static void die_with(pid_t launcher)
{
	pid_t parent;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	parent = getppid();
	/* Another parent: the launcher ended before the prctl above, and another process
	 * has adopted us. 0 is a parent in an outer pid namespace, which may be the
	 * launcher. */
	if (parent && parent != launcher)
		_exit(128 + SIGKILL);
}

/* Runs in the memory of the launcher, which vfork has put to sleep: so nothing is
 * allocated here, and only the environment's own pid rows change (inherit.h). The two
 * statuses are a shell's: 127 for a command that is not there, 126 for one that cannot be
 * run. */
static _Noreturn void become_command(const struct child_command *c, pid_t launcher)
{
	int err;

	if (!c->outlive)
		die_with(launcher);
	inherit_give();
	signals_give_back();
	execve(c->path, c->argv, c->env);
	if (errno == ENOEXEC && shell)
		execve("/bin/sh", shell, c->env);
	err = errno;
	say_warn("%s: %s", c->argv[0], strerror(err));
	_exit(err == ENOENT ? 127 : 126);
}

/* Allocates nothing: the launcher waits also while the machine is short of memory. */
static bool is_stopped(pid_t pid)
{
	char text[1024];
	const char *state = sys_process_field((uint32_t)pid, 3, text, sizeof(text));

	return state && *state == 'T';
}

/* Takes back a blocked signal that is pending; that none is pending is no error. */
static void drop_pending(int sig)
{
	const struct timespec now = { 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	sigtimedwait(&set, NULL, &now);
}

/* Stops the launcher by the same signal, so that the shell says why. In an orphaned group
 * the kernel lets no signal but SIGSTOP stop a process; then a program in the launcher's
 * group was not stopped either. A program in a group of its own is stopped by itself, and
 * the launcher by SIGSTOP. */
static void stop_by(pid_t pid, int sig)
{
	struct sigaction plain = { .sa_handler = SIG_DFL }, old;
	sigset_t set, mask;

	if (getpgid(pid) != getpgrp()) {
		kill(getpid(), SIGSTOP);
		return;
	}
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigaction(sig, &plain, &old);
	drop_pending(sig); /* sent to the group, too: one stop is enough */
	sigprocmask(SIG_UNBLOCK, &set, &mask);
	kill(getpid(), sig);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigaction(sig, &old, NULL);
}

/* The shell must see the job stop when the program does. A bare SIGSTOP is for the
 * program alone: its sender will continue it, and may not know of the launcher. Process 1
 * cannot be stopped, and goes on at once with the program. */
static void stop_too(pid_t pid, int sig)
{
	if (sig == SIGSTOP)
		return;
	stop_by(pid, sig);
	if (!is_stopped(pid))
		return;
	kill(pid, SIGCONT);
	drop_pending(SIGCONT); /* the launcher has been continued by it */
}

/* Takes the ends and stops of children. Returns true when the command has ended. */
static bool reap_all(pid_t pid, const struct child_others *others, int *status)
{
	int what;
	pid_t got;

	while ((got = waitpid(-1, &what, WNOHANG | WUNTRACED)) > 0) {
		if (got == pid && WIFSTOPPED(what)) {
			stop_too(pid, WSTOPSIG(what));
		} else if (got == pid) {
			*status = what;
			return true;
		} else if (!WIFSTOPPED(what)) {
			group_ended(got);
			if (others && others->ended)
				others->ended(got, what);
		}
	}
	return false;
}

/* Waits for a signal, at most until the next tick. A time of 0 would make sigtimedwait
 * return at once: so without a time sigwaitinfo waits for ever. */
static int wait_signal(const struct child_others *others, siginfo_t *info)
{
	int64_t ns = others && others->tick ? others->tick() : 0;
	struct timespec t;

	if (ns <= 0 || ns == INT64_MAX)
		return sigwaitinfo(&watched, info);
	t = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	return sigtimedwait(&watched, info, &t);
}

static int wait_for(pid_t pid, const struct child_others *others)
{
	const struct timespec now = { 0 };
	siginfo_t info;
	int status;

	while (!reap_all(pid, others, &status))
		if (wait_signal(others, &info) > 0)
			forward_signal(pid, &info);
	/* A signal that ended the program (^C) must not end the launcher before the
	 * traces are finished. */
	while (sigtimedwait(&watched, &info, &now) > 0)
		;
	return status;
}

int child_run(const struct child_command *c, const struct child_others *others,
	      int *status)
{
	struct sigaction quiet = { .sa_handler = ignore_signal };
	pid_t pid, launcher = getpid();

	if (c->text)
		make_shell(c);
	signals_take();
	forward_start();
	inherit_take(c->env);
	/* The launcher sleeps until the child's exec: so none of its memory is copied for
	 * nothing. */
	pid = vfork();
	if (!pid)
		become_command(c, launcher);
	if (pid < 0) {
		int err = -errno;

		signals_give_back();
		return err;
	}
	/* The witness comes after the command: in a new pid namespace the first child is
	 * the init. */
	group_start();
	if (others && others->started)
		others->started();
	*status = wait_for(pid, others);
	group_end();
	/* A closed stderr must not kill the launcher. Not SIG_IGN: on_trace would inherit
	 * that. */
	sigaction(SIGPIPE, &quiet, NULL);
	signals_give_back();
	return 0;
}

void child_mimic(int status)
{
	if (WIFSIGNALED(status)) {
		struct rlimit none = { 0 };
		struct sigaction act = { .sa_handler = SIG_DFL };
		sigset_t set;
		int sig = WTERMSIG(status);

		setrlimit(RLIMIT_CORE, &none); /* the program has dumped its own */
		sigaction(sig, &act, NULL);
		sigemptyset(&set);
		sigaddset(&set, sig);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		/* A signal that does not end the launcher after all (process 1 of a
		 * container) leaves a shell's status for that signal. */
		kill(getpid(), sig);
		_exit(128 + sig);
	}
	exit(WEXITSTATUS(status));
}
