/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE 8192

bool say_quiet;

/* Colour on terminals only, and never against the user's wish (no-color.org). */
static bool has_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return !(no && *no) && !(term && !strcmp(term, "dumb")) && isatty(STDERR_FILENO);
}

static void put(const char *colour, const char *format, va_list args)
{
	char line[LINE];
	int n, room = LINE - 1;

	if (!has_colour())
		colour = NULL;
	n = snprintf(line, LINE, "%sproflaunch:%s ", colour ? colour : "",
		     colour ? "\033[0m" : "");
	n += vsnprintf(line + n, (size_t)(room - n), format, args);
	if (n > room - 1)
		n = room - 1;
	line[n++] = '\n';
	for (int at = 0; at < n;) {
		ssize_t wrote = write(STDERR_FILENO, line + at, (size_t)(n - at));

		if (wrote <= 0)
			break;
		at += (int)wrote;
	}
}

void say_note(const char *format, ...)
{
	va_list args;

	if (say_quiet)
		return;
	va_start(args, format);
	put("\033[1;32m", format, args);
	va_end(args);
}

void say_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put("\033[1;33m", format, args);
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

const char *say_count(uint64_t n, const char *noun)
{
	char *out = next_buffer();
	size_t len = strlen(noun);
	bool hisses = len > 1 && !strcmp(noun + len - 2, "ch");

	snprintf(out, 64, "%s %s%s", say_number(n), noun,
		 n == 1   ? ""
		 : hisses ? "es"
			  : "s");
	return out;
}
