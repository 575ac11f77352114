/* SPDX-License-Identifier: Apache-2.0 */
/*
 * printed - what a test prints on stdout, taken back.
 *
 * Threads  one.  Memory  static.  Errors  a failed Check assertion.  Units  none.
 */
#ifndef TESTS_PRINTED_H
#define TESTS_PRINTED_H

#include "tests/unit/unit.h"

#include <unistd.h>

static char printed_text[1 << 17];

/* From here to printed(). */
static inline void printed_begin(void)
{
	int fd = memfd_create("printed", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	fflush(stdout);
	ck_assert_int_eq(dup2(fd, 1), 1);
	close(fd);
}

static inline char *printed(void)
{
	ssize_t n;

	fflush(stdout);
	n = pread(1, printed_text, sizeof(printed_text) - 1, 0);
	ck_assert_int_ge(n, 0);
	printed_text[n] = '\0';
	return printed_text;
}

/* Is that a whole line of it? */
static inline bool printed_line(const char *line)
{
	size_t len = strlen(line);

	for (const char *p = printed(); (p = strstr(p, line)); p++)
		if ((p == printed_text || p[-1] == '\n') && p[len] == '\n')
			return true;
	return false;
}

#define ck_printed(line) \
	ck_assert_msg(printed_line(line), "no '%s' in:\n%s", line, printed_text)
#define ck_not_printed(text) \
	ck_assert_msg(!strstr(printed(), text), "'%s' in:\n%s", text, printed_text)

#endif
