/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/command.h"
#include "agent/core/log.h"
#include "agent/core/sys.h"
#include "writer/pile.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_MOST          16384
#define STACK              65536
#define SIGNALS            64
#define SYS_close_range_nr 436 /* Linux 5.9, newer than some headers */

static char **kept; /* the environment of commands */

static bool ours(const char *entry)
{
	return !strncmp(entry, "LD_PRELOAD=", 11) || !strncmp(entry, "PROF_", 5);
}

void command_start(char *const *env)
{
	size_t n = 0, bytes = 0;
	char *text;

	for (; env && env[n]; n++)
		bytes += strlen(env[n]) + 1;
	kept = pile_map((n + 1) * sizeof(*kept) + bytes);
	if (!kept)
		return;
	text = (char *)(kept + n + 1);
	for (size_t i = 0, k = 0; i < n; i++) {
		size_t len = strlen(env[i]) + 1;

		if (ours(env[i]) || len > bytes)
			continue;
		kept[k++] = memcpy(text, env[i], len);
		text += len;
		bytes -= len;
	}
}

/* ---- the text ---- */

struct text {
	char *at, *end;
};

static void put(struct text *t, const char *s, size_t len)
{
	if ((size_t)(t->end - t->at) <= len) {
		t->at = t->end;
		return;
	}
	memcpy(t->at, s, len);
	t->at += len;
}

static void put_quoted(struct text *t, const char *path)
{
	put(t, "'", 1);
	for (; *path; path++) {
		if (*path == '\'')
			put(t, "'\\''", 4);
		else
			put(t, path, 1);
	}
	put(t, "'", 1);
}

/* False when it does not fit. */
static bool expand(char *buf, size_t size, const char *command, const char *path)
{
	struct text t = { buf, buf + size };
	bool named = false;

	/* What a command prints must not get into the program's output. */
	put(&t, "exec >&2 </dev/null\n", 20);
	while (*command) {
		if (command[0] == '{' && command[1] == '}') {
			put_quoted(&t, path);
			named = true;
			command += 2;
		} else {
			put(&t, command++, 1);
		}
	}
	if (!named) {
		put(&t, " ", 1);
		put_quoted(&t, path);
	}
	put(&t, "", 1);
	return t.at < t.end;
}

/* ---- the shell ---- */

struct start {
	char *const *argv, *const *env;
	int err;
};

/* In the grandchild, which shares our memory until it has become the shell. */
static void become_shell(struct start *s)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} plain = { 0 };
	uint64_t none = 0;

	/* A handler of the program must not run here, before signals are let in. */
	for (int sig = 1; sig <= SIGNALS; sig++)
		syscall(SYS_rt_sigaction, sig, &plain, NULL, sizeof(none));
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
	syscall(SYS_close_range_nr, 3, ~0u, 0);
	syscall(SYS_execve, "/bin/sh", s->argv, s->env);
	s->err = errno;
	syscall(SYS_exit_group, 127);
}

static char stacks[2][STACK] __attribute__((aligned(64)));

static int grandchild(void *arg)
{
	become_shell(arg);
	return 0;
}

/* Its parent goes at once: the shell belongs to init, not to the program. */
static int child(void *arg)
{
	struct start *s = arg;

	syscall(SYS_setpgid, 0, 0);
	if (clone(grandchild, stacks[1] + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, s) < 0)
		s->err = errno;
	syscall(SYS_exit, 0);
	return 0;
}

void command_run(const char *command, const char *path)
{
	static char text[TEXT_MOST];
	static char *none[] = { NULL };
	char *argv[] = { "sh", "-c", text, NULL };
	struct start s = { argv, kept ? kept : none, 0 };
	int saved = errno, status;
	pid_t pid;

	if (!expand(text, sizeof(text), command, path)) {
		log_warn("on_trace: the command for %s is too long", path);
		return;
	}
	/* No exit signal: neither SIGCHLD nor an ordinary wait() tells the program. */
	pid = clone(child, stacks[0] + STACK, CLONE_VM | CLONE_VFORK, &s);
	if (pid < 0)
		s.err = errno;
	else
		waitpid(pid, &status, __WCLONE);
	if (s.err)
		log_warn("on_trace: cannot run /bin/sh: %s", sys_error(s.err));
	errno = saved;
}
