/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/child.h"
#include "launcher/say.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const int forwarded[] = {
	SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
	SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT, SIGALRM,
};
#define FORWARDED (sizeof(forwarded) / sizeof(*forwarded))

static sigset_t watched; /* the above, without what we were told to ignore */
static sigset_t old_mask;
static struct sigaction old_child, old_pipe;

static void nothing(int sig)
{
	(void)sig;
}

/* Signals wait in line for wait_for; none is lost between fork and there. */
static void signals_take(void)
{
	struct sigaction act = { .sa_handler = SIG_DFL };

	sigemptyset(&watched);
	for (size_t i = 0; i < FORWARDED; i++) {
		sigaction(forwarded[i], NULL, &act);
		if (act.sa_handler != SIG_IGN) /* nohup: it ignores it, and so do we */
			sigaddset(&watched, forwarded[i]);
	}
	sigaddset(&watched, SIGCHLD);
	sigprocmask(SIG_BLOCK, &watched, &old_mask);
	/* An inherited SIG_IGN would reap the program before we see its status. */
	act = (struct sigaction){ .sa_handler = SIG_DFL };
	sigaction(SIGCHLD, &act, &old_child);
	/* A closed stderr must not kill us. Not SIG_IGN: on_trace would inherit that. */
	act.sa_handler = nothing;
	sigaction(SIGPIPE, &act, &old_pipe);
}

static void signals_give_back(void)
{
	sigaction(SIGCHLD, &old_child, NULL);
	sigaction(SIGPIPE, &old_pipe, NULL);
	sigprocmask(SIG_SETMASK, &old_mask, NULL);
}

/* As a shell starts a script without a #! line; argv[0] gives way to the shell's. */
static void start_text(const char *path, char **argv, char *const *env)
{
	size_t n = 0;

	while (argv[n])
		n++;
	char **sh = calloc(n + 2, sizeof(*sh));

	if (!sh)
		return;
	sh[0] = "sh";
	sh[1] = (char *)path;
	for (size_t i = 1; i < n; i++)
		sh[i + 1] = argv[i];
	execve("/bin/sh", sh, env);
}

static _Noreturn void start(const char *path, bool text, char **argv, char *const *env)
{
	int err;

	signals_give_back();
	execve(path, argv, env);
	if (errno == ENOEXEC && text)
		start_text(path, argv, env);
	err = errno;
	say_warn("%s: %s", argv[0], strerror(err));
	_exit(err == ENOENT ? 127 : 126);
}

static bool is_stopped(pid_t pid)
{
	char path[64], line[512], *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	p = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	if (f)
		fclose(f);
	return p && p[1] && p[2] == 'T';
}

static void forward(pid_t pid, const siginfo_t *info)
{
	/* What the terminal sent went to the program as well: it is in our group. */
	if (info->si_code == SI_KERNEL)
		return;
	/* fg continues the whole group; kill -CONT only us. */
	if (info->si_signo == SIGCONT && !is_stopped(pid))
		return;
	kill(pid, info->si_signo);
}

/* The shell must see the job stop when the program does. A bare SIGSTOP is for the
 * program alone: whoever sent it will continue it, and may not know of us. */
static void stop_too(pid_t pid, int sig)
{
	if (sig == SIGSTOP)
		return;
	kill(getpid(), SIGSTOP);
	if (is_stopped(pid))
		kill(pid, SIGCONT);
}

static int wait_for(pid_t pid)
{
	const struct timespec now = { 0 };
	siginfo_t info;
	int status;

	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG | WUNTRACED);

		if (got == pid && WIFSTOPPED(status))
			stop_too(pid, WSTOPSIG(status));
		else if (got == pid)
			break;
		else if (sigwaitinfo(&watched, &info) > 0 && info.si_signo != SIGCHLD)
			forward(pid, &info);
	}
	/* What ended the program (^C) must not end us before the traces are finished. */
	while (sigtimedwait(&watched, &info, &now) > 0)
		;
	return status;
}

int child_run(const char *path, bool text, char **argv, char *const *env, int *status)
{
	struct sigaction quiet = { .sa_handler = nothing };
	pid_t pid;

	signals_take();
	/* We sleep until its exec: nothing of ours has to be copied and thrown away. */
	pid = vfork();
	if (!pid)
		start(path, text, argv, env);
	if (pid < 0) {
		int err = -errno;

		signals_give_back();
		return err;
	}
	*status = wait_for(pid);
	signals_give_back();
	sigaction(SIGPIPE, &quiet, NULL);
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
		kill(getpid(), sig);
		_exit(128 + sig);
	}
	exit(WEXITSTATUS(status));
}
