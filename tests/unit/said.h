/* SPDX-License-Identifier: Apache-2.0 */
/*
 * said - what goes to stderr between two moments of a test.
 *
 * Threads  one.  Memory  a file without a name.  Errors  assertions.  Units  none.
 */
#ifndef TESTS_SAID_H
#define TESTS_SAID_H

#include "tests/unit/unit.h"

#include <string.h>
#include <unistd.h>

static struct {
	int file, screen;
	char text[8192];
} said_by;

static inline void said_start(void)
{
	char path[] = "/tmp/proflaunch_test_XXXXXX";

	said_by.file = mkstemp(path);
	said_by.screen = dup(2);
	ck_assert_int_ge(said_by.file, 0);
	unlink(path);
	fflush(stderr);
	dup2(said_by.file, 2);
}

/* All of it; from here on the screen is the screen again. */
static inline const char *said(void)
{
	ssize_t n;

	fflush(stderr);
	dup2(said_by.screen, 2);
	n = pread(said_by.file, said_by.text, sizeof(said_by.text) - 1, 0);
	ck_assert_int_ge(n, 0);
	said_by.text[n] = '\0';
	close(said_by.file);
	close(said_by.screen);
	return said_by.text;
}

static inline unsigned said_lines(const char *text)
{
	unsigned lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

#endif
