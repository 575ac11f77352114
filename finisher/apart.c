/* SPDX-License-Identifier: Apache-2.0 */
/* A finisher is forked by the launcher, and would inherit the terminal, the priority,
 * the limits and the descriptors of whoever started that. Of these a pipe that is held
 * open keeps its reader waiting, a directory cannot be unmounted, and a ^C would end
 * the finisher with the program: so each of them is given up. */
#include "finisher/apart.h"
#include "base/sys.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The finisher is to be killed before the program when memory runs out, however large
 * the program has become: with half of this score a program that fills more than half
 * of its control group would go first. The score is only ever raised: nobody needs a
 * privilege for that. */
#define OOM_FIRST "1000"

static void write_text(const char *path, const char *text)
{
	int fd = sys_open(path, O_WRONLY, 0);

	if (fd < 0)
		return;
	sys_write_all(fd, text, strlen(text));
	close(fd);
}

static void raise_limit(int what)
{
	struct rlimit l;

	if (!getrlimit(what, &l) && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		setrlimit(what, &l);
	}
}

static bool is_kept(const struct finish *f, int fd)
{
	if (fd == f->traces || fd == f->spools)
		return true;
	for (size_t i = 0; i < f->held_n; i++)
		if (f->held[i] == fd)
			return true;
	return false;
}

/* Between the kept ones each number is closed by itself; behind the highest of them
 * close_range can do the rest at once. */
static void close_others(const struct finish *f)
{
	int most = 2;

	if (f->traces > most)
		most = f->traces;
	if (f->spools > most)
		most = f->spools;
	for (size_t i = 0; i < f->held_n; i++)
		if (f->held[i] > most)
			most = f->held[i];
	for (int fd = 3; fd <= most; fd++)
		if (!is_kept(f, fd))
			close(fd);
	sys_close_from(most + 1);
}

/* A finisher must not hold up a real-time command. And the kernel would wait for ever: a
 * process that reaps a child waits, without sleeping, while another one looks at the
 * child's /proc; a finisher that looks there, on the same processor and at the same
 * priority, would never run again. */
static void leave_real_time(void)
{
	int policy = sched_getscheduler(0);

	if (policy > 0 && policy != SCHED_BATCH && policy != SCHED_IDLE)
		sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
}

void apart_start(const struct finish *f)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN },
			 plain = { .sa_handler = SIG_DFL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	/* setsid fails for the leader of a process group; a child that was just forked is
	 * none. */
	setsid();
	leave_real_time();
	prctl(PR_SET_NAME, "proflaunch-fin");
	dup2(f->lines, STDERR_FILENO);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	close_others(f);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* The launcher may be killed at any time: a line to it is then an error, and
	 * no end. */
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGCHLD, &plain, NULL);
	write_text("/proc/self/oom_score_adj", OOM_FIRST);
	raise_limit(RLIMIT_NOFILE);
	raise_limit(RLIMIT_AS);
	raise_limit(RLIMIT_DATA);
	raise_limit(RLIMIT_CPU);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
	if (chdir("/"))
		return; /* then the current directory cannot be unmounted for now */
}

/* setpriority gets this thread's id, for on Linux nice values belong to threads. The
 * session's autogroup is set, too: with CONFIG_SCHED_AUTOGROUP a nice value counts only
 * against threads of the same session, and the finisher is alone in its own. */
void apart_give_way(void)
{
	setpriority(PRIO_PROCESS, sys_tid(), 19);
	apart_share(getpid(), false);
}

/* The kernel refuses an unprivileged write to this file within a tenth of a second of the
 * last one by anybody (EAGAIN), and leaves the file of a session without autogroup empty:
 * that counts as done. */
bool apart_share(pid_t pid, bool whole)
{
	const char *nice = whole ? "0" : "19";
	char path[64], text[128], end[16];

	snprintf(path, sizeof(path), "/proc/%d/autogroup", (int)pid);
	snprintf(end, sizeof(end), " nice %s\n", nice);
	if (sys_read_file(path, text, sizeof(text)) <= 0 || strstr(text, end))
		return true;
	write_text(path, nice);
	return false;
}

/* Opens plain files only: others may write in the log directory, and a pipe there could
 * block whoever opens it or writes into it. */
static int open_log(const char *path)
{
	int fd = open(path,
		      O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		      0666);
	struct stat st;

	if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	return -1;
}

void apart_linger(const struct finish *f)
{
	char path[PATH_MAX];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fd = -1;

	if (snprintf(path, sizeof(path), "%s/proflaunch.log", f->config->logdir) <
	    (int)sizeof(path))
		fd = open_log(path);
	dup2(fd < 0 ? null : fd, STDERR_FILENO);
	/* Replaces the pipes without closing the numbers: the other thread may be about
	 * to write there. */
	if (f->traces >= 0)
		dup2(null, f->traces);
	if (f->spools >= 0)
		dup2(null, f->spools);
	if (fd >= 0)
		close(fd);
	close(null);
}
