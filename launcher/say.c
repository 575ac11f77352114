/* SPDX-License-Identifier: Apache-2.0 */
/* Standard error belongs to the program as well: each line is one write, so that lines do
 * not mix, and nothing is buffered. The reader may be slow, stopped or gone; the launcher
 * must end nevertheless. */
#include "launcher/say.h"
#include "agent/core/clock.h"
#include "report/out.h"

#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE        8192
#define PATIENCE_MS 100 /* for all lines together */

bool say_quiet;

/* Colour on terminals only, and never against the user's wish (no-color.org). */
static bool has_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return !(no && *no) && !(term && !strcmp(term, "dumb")) && isatty(STDERR_FILENO);
}

/* The caller may read only when the launcher has ended: so the launcher waits as little
 * as possible for room in a pipe, and for a terminal (^S) as any program would. The flags
 * of an open file are shared: poll asks for room instead. */
static bool has_room(void)
{
	static int patience = PATIENCE_MS;
	struct pollfd err = { .fd = STDERR_FILENO, .events = POLLOUT };
	int64_t since;
	int got;

	if (isatty(STDERR_FILENO))
		return true;
	since = sys_clock_ns(CLOCK_MONOTONIC);
	got = poll(&err, 1, patience);
	patience -= (int)((sys_clock_ns(CLOCK_MONOTONIC) - since) / 1000000);
	if (patience < 0)
		patience = 0;
	/* POLLERR: nobody reads; a write would raise SIGPIPE. */
	return got > 0 && !(err.revents & (POLLERR | POLLNVAL));
}

/* Writes PIPE_BUF bytes at a time: poll says that so many fit, and the kernel writes them
 * in one piece. */
void say_text(const char *text, size_t size)
{
	while (size && has_room()) {
		ssize_t n = write(STDERR_FILENO, text, size < PIPE_BUF ? size : PIPE_BUF);

		if (n <= 0)
			break;
		text += n;
		size -= (size_t)n;
	}
}

static void say_line(const char *colour, const char *format, va_list args)
{
	char line[LINE];
	int n, head, room = LINE - 1;

	if (!has_colour())
		colour = NULL;
	head = snprintf(line, LINE, "%sproflaunch:%s ", colour ? colour : "",
			colour ? "\033[0m" : "");
	n = head + vsnprintf(line + head, (size_t)(room - head), format, args);
	out_plain(line + head); /* names in the line may come from anywhere */
	if (n > room - 1)
		n = room - 1;
	line[n++] = '\n';
	say_text(line, (size_t)n);
}

void say_note(const char *format, ...)
{
	va_list args;

	if (say_quiet)
		return;
	va_start(args, format);
	say_line("\033[1;32m", format, args);
	va_end(args);
}

void say_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_line("\033[1;33m", format, args);
	va_end(args);
}

static char *next_buffer(void)
{
	static char ring[16][64];
	static unsigned at;

	return ring[at++ % 16];
}

const char *say_number(uint64_t n)
{
	char digits[24], *out = next_buffer(), *p = out;
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = '\0';
	return out;
}

/* Plurals like "batches", "processes"; no other noun here has an irregular one. */
const char *say_count(uint64_t n, const char *noun)
{
	char *out = next_buffer();
	size_t len = strlen(noun);
	bool hisses = len > 1 &&
		      (!strcmp(noun + len - 2, "ch") || !strcmp(noun + len - 2, "ss"));

	snprintf(out, 64, "%s %s%s", say_number(n), noun,
		 n == 1   ? ""
		 : hisses ? "es"
			  : "s");
	return out;
}

const char *say_path(const char *path)
{
	static char ring[2][4 * PATH_MAX];
	static unsigned at;
	char *out = ring[at++ % 2], *p = out;

	if (!path[strspn(path,
			 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			 "/._-+:,@%=")])
		return path;
	*p++ = '\'';
	for (; *path && p < out + sizeof(ring[0]) - 8; path++)
		p += *path == '\'' ? sprintf(p, "'\\''") : sprintf(p, "%c", *path);
	strcpy(p, "'");
	return out;
}
