/* SPDX-License-Identifier: Apache-2.0 */
/* A pager that cannot be started loses nothing: the text is written without it. */
#include "launcher/pager.h"
#include "base/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Writes all of it; EPIPE, where the reader has what it wanted, is fine. */
static bool write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EPIPE;
		text += n;
		len -= (size_t)n;
	}
	return true;
}

/* Is the text longer than the terminal? A line that is wider than it is one all the same:
 * reports know the width. */
static bool is_long(const char *text, size_t len)
{
	const char *lines = getenv("LINES");
	size_t rows = lines ? text_number(lines) : 0, n = 0;
	struct winsize size;

	if (!rows && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		rows = size.ws_row;
	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	return rows && n >= rows;
}

static const char *find_pager(void)
{
	const char *pager = getenv("PAGER"), *term = getenv("TERM");

	if (!isatty(STDOUT_FILENO) || !term || !*term || !strcmp(term, "dumb"))
		return NULL;
	if (!pager)
		return "less";
	return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

static void run_pager(const char *pager, const int *ends)
{
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	close(ends[1]);
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
	_exit(127);
}

/* Gives the text to the pager. False: there is none. */
static bool page_text(const char *pager, const char *text, size_t len)
{
	int ends[2], status = 0;
	pid_t pid;

	if (pipe(ends))
		return false;
	/* Where standard input is closed, the pipe is it. */
	if (ends[0] == STDIN_FILENO || ends[1] == STDIN_FILENO) {
		close(ends[0]);
		close(ends[1]);
		return false;
	}
	pid = fork();
	if (!pid)
		run_pager(pager, ends);
	close(ends[0]);
	if (pid > 0) {
		/* ^C is for the pager, which stays; `q` closes the pipe. */
		signal(SIGINT, SIG_IGN);
		write_all(ends[1], text, len);
	}
	close(ends[1]);
	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	/* What the shell says of a command that is not there, or no program. */
	return !WIFEXITED(status) ||
	       (WEXITSTATUS(status) != 127 && WEXITSTATUS(status) != 126);
}

bool pager_write(const char *text, size_t len)
{
	const char *pager = is_long(text, len) ? find_pager() : NULL;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* inherited, it would hide how the pager ended */
	return (pager && page_text(pager, text, len)) ||
	       write_all(STDOUT_FILENO, text, len);
}
