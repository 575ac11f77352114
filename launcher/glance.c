/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the process that reads, and waits for its lines. */
#include "launcher/glance.h"
#include "base/sys.h"
#include "launcher/say.h"
#include "report/choice.h"
#include "report/memory/processes.h"
#include "report/view/glance.h"
#include "report/view/overview.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NS_A_MS 1000000

/* ---- the process that reads ---- */

static bool read_subject(struct subject *s, const char *place)
{
	static struct choice c;
	const struct subject_options o = { .first = INT64_MIN, .last = INT64_MAX };
	char why[3 * PATH_MAX];

	c = (struct choice){ .rank = CHOICE_ANY, .window = CHOICE_ANY };
	return choice_make(&c, place, why, sizeof(why)) && !processes_is(c.path) &&
	       subject_make(s, c.path, &o, why, sizeof(why));
}

static bool print_lines(FILE *out, int terminal, const void *place)
{
	static struct subject s;

	(void)terminal;
	if (!read_subject(&s, place) || !s.steps.n)
		return false;
	glance_print(&s, out);
	return true;
}

static bool print_whole(FILE *out, int terminal, const void *place)
{
	static struct subject s;
	struct screen screen;

	if (!read_subject(&s, place) || !s.steps.n)
		return false;
	screen_begin(&screen, out, terminal);
	overview_print(&s, &screen, 0);
	return true;
}

/* The process; below 0: there is none. `fd` is its output. */
static pid_t start_reader(glance_print_fn *print, const void *what, int fd)
{
	pid_t pid = fork();
	FILE *out;

	if (pid)
		return pid;
	/* What the terminal tells the launcher, it tells this process too. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	out = fdopen(fd, "w");
	if (!out || !print(out, isatty(fd) ? fd : -1, what))
		_exit(1);
	_exit(fflush(out) ? 1 : 0);
}

static bool wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* ---- its lines ---- */

/* Reads until the end; false: it did not come in time, or there was too much. */
static bool read_in_time(int fd, char *text, size_t size)
{
	int64_t until = sys_clock_ns(CLOCK_MONOTONIC) + GLANCE_MS * (int64_t)NS_A_MS;
	size_t len = 0;

	while (len < size - 1) {
		int64_t left = (until - sys_clock_ns(CLOCK_MONOTONIC)) / NS_A_MS;
		struct pollfd p = { fd, POLLIN, 0 };
		int ready = left > 0 ? poll(&p, 1, (int)left) : 0;
		ssize_t n;

		if (!ready)
			return false;
		if (ready < 0 && errno == EINTR)
			continue;
		n = ready < 0 ? -1 : read(fd, text + len, size - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			text[len] = '\0';
			return !n;
		}
		len += (size_t)n;
	}
	return false;
}

void glance_say(const char *place)
{
	char text[4096], *line = text;
	int pipes[2];
	pid_t pid;
	bool fine;

	if (pipe2(pipes, O_CLOEXEC))
		return;
	pid = start_reader(print_lines, place, pipes[1]);
	close(pipes[1]);
	if (pid < 0) {
		close(pipes[0]);
		return;
	}
	fine = read_in_time(pipes[0], text, sizeof(text));
	close(pipes[0]);
	if (!fine)
		kill(pid, SIGKILL);
	fine = wait_for(pid) && fine;
	for (char *end; fine && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		say_note("%s", line);
	}
}

bool glance_apart(glance_print_fn *print, const void *what)
{
	pid_t pid = start_reader(print, what, STDERR_FILENO);

	return pid > 0 && wait_for(pid);
}

bool glance_report(const char *place)
{
	return glance_apart(print_whole, place);
}
