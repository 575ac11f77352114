/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/ask.h"
#include "agent/core/clock.h"
#include "agent/core/fmt.h"
#include "agent/core/sys.h"
#include "writer/output.h"
#include "writer/pile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK              65536
#define SIGNALS            64
#define FILES              65536 /* closed one by one where the kernel is old */
#define SYS_close_range_nr 436 /* Linux 5.9, newer than some headers */

/* ---- where the launcher is ---- */

struct self { /* the file that this code is mapped from */
	char path[OUTPUT_PATH];
	bool found;
};

static uintptr_t hex(const char **at)
{
	uintptr_t n = 0;

	for (;; ++*at) {
		char c = **at;

		if (c >= '0' && c <= '9')
			n = n << 4 | (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			n = n << 4 | (uintptr_t)(c - 'a' + 10);
		else
			return n;
	}
}

/* "55d0c0a000-55d0c0b000 r-xp 00000000 fe:01 1234   /path" */
static void look_at_line(struct self *s, const char *line)
{
	const char *path = strchr(line, '/');
	uintptr_t begin = hex(&line), end = *line == '-' ? (line++, hex(&line)) : 0;

	if ((uintptr_t)look_at_line < begin || (uintptr_t)look_at_line >= end)
		return;
	s->found = path && fmt(s->path, sizeof(s->path), "%s", path) < sizeof(s->path);
}

/* Not asked of the loader: its lock may be held by who waits for us. */
static void find_self(struct self *s)
{
	char buf[OUTPUT_PATH + 256];
	int fd = sys_open("/proc/self/maps", O_RDONLY, 0);
	size_t used = 0;
	ssize_t n;

	s->found = false;
	if (fd < 0)
		return;
	while (!s->found && ((n = read(fd, buf + used, sizeof(buf) - 1 - used)) > 0 ||
			     (n < 0 && errno == EINTR))) {
		char *line = buf, *end;

		used += n > 0 ? (size_t)n : 0;
		buf[used] = '\0';
		for (; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			look_at_line(s, line);
		}
		used -= (size_t)(line - buf);
		memmove(buf, line, used);
		if (used == sizeof(buf) - 1)
			used = 0; /* no path is as long as that */
	}
	sys_close(fd);
}

/* It is believed as much as the agent is: same owner, or one that may do all anyway, and
 * nobody can write it who cannot write the agent. */
static bool trusted(const char *path, const struct sys_stat *agent)
{
	struct sys_stat st;

	return !sys_stat(path, &st) && S_ISREG(st.mode) && (st.mode & 0111) &&
	       !(st.mode & 022 & ~agent->mode) &&
	       (!st.uid || st.uid == geteuid() || st.uid == agent->uid);
}

/* The launcher finds the agent beside itself, or in ../lib: the way back. */
static int find_launcher(char *path, size_t size)
{
	static const char *const places[] = { "", "../bin/", "../../bin/" };
	struct sys_stat agent;
	struct self self;
	const char *slash;

	/* valgrind ends a program that starts a process as we do. */
	if (getauxval(AT_SECURE) || sys_under_valgrind())
		return -ENOENT;
	find_self(&self);
	if (!self.found || sys_stat(self.path, &agent))
		return -ENOENT;
	slash = strrchr(self.path, '/');
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (fmt(path, size, "%.*s/%sproflaunch", (int)(slash - self.path),
			self.path, places[i]) < size &&
		    trusted(path, &agent))
			return 0;
	return -ENOENT;
}

/* ---- the process ---- */

/*
 * It would become the program's child when it becomes the launcher: exec makes its end
 * a SIGCHLD, whatever was said before. So a minder stands between: it shares our memory,
 * runs no code but what is here, and cannot touch errno, which is the thread's that
 * started it.
 */
struct start {
	const char *path;
	char *argv[3], *env[2];
	char *stack; /* of the one that becomes the launcher */
	int fd;
};

/* A sanitizer takes what runs here for the thread whose thread-local data it has. */
#define ASIDE __attribute__((no_sanitize("thread", "address", "undefined")))

ASIDE static long raw(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
}

ASIDE static void close_from(int first)
{
	if (!raw(SYS_close_range_nr, first, ~0u, 0, 0))
		return;
	for (int fd = first; fd < FILES; fd++)
		raw(SYS_close, fd, 0, 0, 0);
}

ASIDE static int become_launcher(void *arg)
{
	struct start *s = arg;
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} plain = { 0 };
	uint64_t none = 0;
	long null, fd;

	/* A handler of the program must not run here, before signals are let in. */
	for (int sig = 1; sig <= SIGNALS; sig++)
		raw(SYS_rt_sigaction, sig, (long)&plain, 0, sizeof(none));
	raw(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, sizeof(none));
	raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
	fd = raw(SYS_fcntl, s->fd, F_DUPFD, 3, 0);
	null = raw(SYS_openat, AT_FDCWD, (long)"/dev/null", O_RDWR, 0);
	raw(SYS_dup2, null, STDERR_FILENO, 0, 0);
	raw(SYS_dup2, fd, STDIN_FILENO, 0, 0);
	raw(SYS_dup2, fd, STDOUT_FILENO, 0, 0);
	close_from(3);
	raw(SYS_execve, (long)s->path, (long)s->argv, (long)s->env, 0);
	raw(SYS_exit_group, 127, 0, 0, 0);
	return 0;
}

ASIDE static int mind(void *arg)
{
	struct start *s = arg;

	raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
	raw(SYS_setpgid, 0, 0, 0, 0);
	if (clone(become_launcher, s->stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD,
		  s) > 0) {
		close_from(
			0); /* the program's are its own, and who asks waits for an end */
		while (raw(SYS_wait4, -1, 0, __WALL, 0) == -EINTR)
			;
	}
	raw(SYS_exit_group, 0, 0, 0, 0);
	return 0;
}

/* ---- the talk ---- */

struct talk {
	int fd;
	const char *question;
	size_t left;
	int64_t until;
	int (*take)(void *arg, const char *text, size_t len);
	void *arg;
};

/* 1: there is more to come, 0: it has ended. */
static int receive(struct talk *t)
{
	char buf[16384];
	ssize_t n = recv(t->fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (n > 0) {
		int err = t->take(t->arg, buf, (size_t)n);

		return err ? err : 1;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 1;
	return n < 0 && errno != ECONNRESET ? -errno : 0;
}

static void send_some(struct talk *t)
{
	ssize_t n = send(t->fd, t->question, t->left, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n > 0) {
		t->question += n;
		t->left -= (size_t)n;
	} else if (errno != EAGAIN && errno != EINTR) {
		t->left = 0; /* it listens no more; it may have said something */
	}
	if (!t->left)
		shutdown(t->fd, SHUT_WR); /* also of what a fork has copied since */
}

static int talk(struct talk *t)
{
	int more = 1;

	while (more == 1) {
		struct pollfd p = { t->fd, t->left ? POLLIN | POLLOUT : POLLIN, 0 };
		int64_t left = t->until - clock_get_ns(CLOCK_MONOTONIC);
		int n = left <= 0 ? 0 : poll(&p, 1, (int)(left / 1000000) + 1);

		if (!n)
			return -ETIME;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n < 0)
			continue;
		if (p.revents & POLLOUT)
			send_some(t);
		if (p.revents & (POLLIN | POLLHUP | POLLERR))
			more = receive(t);
	}
	return more;
}

/* Above 2: a program that has closed its output may write there all the same. */
static int make_pair(int pair[2])
{
	int low[2], err = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, low))
		return -errno;
	for (int i = 0; i < 2; i++) {
		pair[i] = fcntl(low[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (pair[i] < 0)
			err = -errno;
	}
	for (int i = 0; i < 2; i++) {
		sys_close(low[i]);
		if (err && pair[i] >= 0)
			sys_close(pair[i]);
	}
	return err;
}

/* All signals are blocked: the minder takes none but SIGKILL. */
static int with_stacks(struct start *s, struct talk *t, char *stacks)
{
	int pair[2] = { -1, -1 }, status, err;
	pid_t pid;

	err = make_pair(pair);
	if (err)
		return err;
	s->fd = pair[1];
	s->stack = stacks + STACK;
	pid = clone(mind, stacks + STACK, CLONE_VM, s);
	err = pid < 0 ? -errno : 0;
	sys_close(pair[1]);
	t->fd = pair[0];
	if (!err)
		err = talk(t);
	sys_close(pair[0]);
	if (pid > 0) {
		kill(pid, SIGKILL); /* what it minds dies with it */
		while (waitpid(pid, &status, __WCLONE) < 0 && errno == EINTR)
			;
	}
	return err;
}

int ask(const char *question, size_t len, int64_t ns,
	int (*take)(void *arg, const char *text, size_t len), void *arg)
{
	struct talk t = { .question = question, .left = len, .take = take, .arg = arg };
	struct start s = { .argv = { "proflaunch", "symbolize" }, .env = { "LC_ALL=C" } };
	char path[OUTPUT_PATH], *stacks;
	int saved = errno, err = find_launcher(path, sizeof(path));
	uint64_t mask;

	if (err || !len)
		return err;
	stacks = pile_map(2 * STACK);
	if (!stacks)
		return -ENOMEM;
	s.path = path;
	t.until = clock_get_ns(CLOCK_MONOTONIC) + ns;
	sys_block_signals(&mask);
	err = with_stacks(&s, &t, stacks);
	sys_restore_signals(mask);
	pile_unmap(stacks, 2 * STACK);
	errno = saved;
	return err;
}
