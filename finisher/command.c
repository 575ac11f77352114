/* SPDX-License-Identifier: Apache-2.0 */
/* on_trace's command. The launcher, or after its end the finisher, starts it by vfork and
 * waits for it beside its other children: memory may be short, and nothing is allocated.
 */
#include "finisher/command.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/text.h"
#include "config/own_env.h"
#include "finisher/command_words.h"
#include "writer/pile.h"
#include "writer/twin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINES   5 /* about commands that went wrong */
#define SIGNALS 64

static char **kept; /* the environment that commands get */
static char directory[PATH_MAX]; /* "": the current one */
static struct {
	pid_t pid;
	char path[PATH_MAX];
} running[COMMAND_MOST];
static unsigned most = COMMAND_MOST, wrong, told;

/* ---- the command's environment and directory ---- */

static char *copy_row(char *text, const char *row, size_t room)
{
	static const char name[] = "LD_PRELOAD=";
	const char *list = own_env_value(row, "LD_PRELOAD");
	size_t len;

	if (own_env_is(row))
		return NULL;
	if (!list || !own_env_word(list, &len))
		return memcpy(text, row, strlen(row) + 1);
	memcpy(text, name, sizeof(name) - 1);
	if (!own_env_others(list, text + sizeof(name) - 1, room - (sizeof(name) - 1)))
		return NULL;
	return text;
}

void command_start(char *const *env, const char *dir)
{
	size_t n = 0, bytes = 0, k = 0;
	cpu_set_t ours;
	char *text;

	if (!sched_getaffinity(0, sizeof(ours), &ours) && CPU_COUNT(&ours) < COMMAND_MOST)
		most = (unsigned)CPU_COUNT(&ours);
	snprintf(directory, sizeof(directory), "%s", dir ? dir : "");
	for (; env && env[n]; n++)
		bytes += strlen(env[n]) + 1;
	kept = pile_map((n + 1) * sizeof(*kept) + bytes);
	if (!kept)
		return;
	text = (char *)(kept + n + 1);
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(env[i]) + 1;

		if (len <= bytes && copy_row(text, env[i], bytes)) {
			kept[k++] = text;
			text += len;
			bytes -= len;
		}
	}
}

/* ---- at most once ---- */

static bool name_mark(char *mark, size_t size, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return snprintf(mark, size, "%.*s.%s.on_trace", (int)(name - path), path, name) <
	       (int)size;
}

static bool read_id(const char *path, char id[TWIN_ID])
{
	int fd = sys_open(path, O_RDONLY | O_NONBLOCK, 0);
	bool there = fd >= 0 && twin_id(fd, text_ends(path, ".gz"), id);

	if (fd >= 0)
		close(fd);
	return there;
}

/* Is it the mark of an earlier file with that name, which is gone? */
static bool is_of_another(int mark, const char *path)
{
	char its[TWIN_ID], now[TWIN_ID];

	return sys_pread(mark, its, sizeof(its), 0) == (ssize_t)sizeof(its) &&
	       read_id(path, now) && memcmp(its, now, sizeof(its));
}

bool command_marked(const char *path)
{
	char mark[PATH_MAX];
	bool other;
	int fd;

	if (!name_mark(mark, sizeof(mark), path) || access(mark, F_OK))
		return false;
	fd = sys_open(mark, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	other = fd >= 0 && is_of_another(fd, path);
	if (fd >= 0)
		close(fd);
	return !other;
}

/* Takes over the mark of an earlier file. The lock lets one of those that find it go on;
 * a later one finds the mark of this file. */
static int take_mark(const char *mark, const char *path)
{
	int fd = sys_open(mark, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);

	if (fd < 0)
		return fd;
	if (!(flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) &&
	    is_of_another(fd, path))
		return fd;
	close(fd);
	return -EEXIST;
}

/* Makes the mark. Returns 0, or why the command must not run. */
static int set_mark(const char *path)
{
	char mark[PATH_MAX], id[TWIN_ID];
	int fd;

	if (!name_mark(mark, sizeof(mark), path))
		return -ENAMETOOLONG;
	fd = sys_open(mark, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
	if (fd == -EEXIST)
		fd = take_mark(mark, path);
	if (fd < 0)
		return fd;
	if (read_id(path, id))
		sys_pwrite_all(fd, id, sizeof(id), 0);
	close(fd);
	return 0;
}

static void drop_mark(const char *path)
{
	char mark[PATH_MAX];

	if (name_mark(mark, sizeof(mark), path))
		unlink(mark);
}

/* ---- starting ---- */

/* Runs in the memory of its parent, which sleeps until the exec. */
static _Noreturn void become_words(char *const *argv, volatile int *err)
{
	static char *none[] = { NULL };
	struct sigaction plain = { .sa_handler = SIG_DFL };
	int null = open("/dev/null", O_RDONLY);
	sigset_t empty;

	setpgid(0, 0);
	for (int sig = 1; sig <= SIGNALS; sig++)
		sigaction(sig, &plain, NULL);
	sigemptyset(&empty);
	sigprocmask(SIG_SETMASK, &empty, NULL);
	dup2(null, STDIN_FILENO);
	/* The command's output must not get into the program's output. */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	sys_close_from(3);
	/* A relative path in the command means nothing in another directory. */
	if (!*directory || !chdir(directory))
		execvpe(argv[0], argv, kept ? kept : none);
	*err = errno;
	_exit(127);
}

static pid_t start_words(char *const *argv, int *err)
{
	volatile int failed = 0;
	pid_t pid = vfork();

	if (!pid)
		become_words(argv, &failed);
	*err = pid < 0 ? errno : failed;
	if (pid > 0 && failed)
		waitpid(pid, NULL, 0);
	return *err ? -1 : pid;
}

static bool may_tell(void)
{
	wrong++;
	return told < LINES && ++told;
}

static unsigned free_place(void)
{
	unsigned i = 0;

	while (i < most && running[i].pid)
		i++;
	return i;
}

bool command_ready(void)
{
	return free_place() < most;
}

unsigned command_running(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < COMMAND_MOST; i++)
		n += running[i].pid != 0;
	return n;
}

void command_run(const char *command, const char *path)
{
	static struct command_words words;
	unsigned at = free_place();
	int saved = errno, err;
	pid_t pid;

	if (at == most)
		return;
	if (!command_words_make(&words, command, path)) {
		if (may_tell())
			log_warn("on_trace: the command for %s is empty or too long",
				 path);
		return;
	}
	err = set_mark(path);
	if (err && err != -EEXIST && may_tell())
		log_warn("on_trace: not run for %s: its mark cannot be made: %s", path,
			 sys_error(err));
	if (err)
		goto out;
	pid = start_words(words.argv, &err);
	if (pid > 0) {
		running[at].pid = pid;
		snprintf(running[at].path, sizeof(running[at].path), "%s", path);
		goto out;
	}
	drop_mark(path);
	if (may_tell())
		log_warn("on_trace: %s cannot be started for %s: %s", words.argv[0], path,
			 sys_error(err));
out:
	errno = saved;
}

/* ---- the command's end ---- */

bool command_ended(pid_t pid, int status)
{
	unsigned i = 0;

	while (i < COMMAND_MOST && running[i].pid != pid)
		i++;
	if (!pid || i == COMMAND_MOST)
		return false;
	running[i].pid = 0;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	if (!may_tell())
		return true;
	if (WIFSIGNALED(status))
		log_warn("on_trace: signal %d ended the command for %s", WTERMSIG(status),
			 running[i].path);
	else
		log_warn("on_trace: the command ended with status %d for %s",
			 WEXITSTATUS(status), running[i].path);
	return true;
}

bool command_wait(void)
{
	int status;
	pid_t pid;

	while (command_running() &&
	       ((pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR))
		if (pid > 0)
			command_ended(pid, status);
	return !wrong;
}

void command_sum(void)
{
	if (wrong > told)
		log_warn("on_trace: %u more commands went wrong", wrong - told);
	told = wrong;
}
