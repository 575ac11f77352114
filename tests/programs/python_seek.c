/* SPDX-License-Identifier: Apache-2.0 */
/* A part of python_walk.so: several functions of Python's that are looked for by their
 * names, for tests/python/seek.py. */
#include "agent/python/seek.h"

#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* What has happened: "+2" a call of number 2 begins, "-2" ends. */
static char said[1 << 16];
static size_t said_n;
static bool is_elsewhere;

static void say(char what, unsigned which)
{
	if (said_n + 8 < sizeof(said))
		said_n += (size_t)sprintf(said + said_n, "%c%u ", what, which);
}

static uint32_t begin(unsigned which)
{
	say('+', which);
	return which + 1;
}

static void end(uint32_t token)
{
	say('-', token - 1);
}

static bool elsewhere(void)
{
	return is_elsewhere;
}

EXPORT bool seek_test_want(const char *names, unsigned which)
{
	return seek_want(names, which);
}

/* With the interpreter's lock. */
EXPORT void seek_test_start(void)
{
	static const struct seek_listener to = { begin, end, elsewhere };

	seek_prepare(&to);
	seek_look();
}

/* What has happened since the last call. */
EXPORT const char *seek_test_said(void)
{
	static char copy[sizeof(said)];

	memcpy(copy, said, sizeof(said));
	copy[said_n] = 0;
	said_n = 0;
	return copy;
}

EXPORT const char *seek_test_missing(unsigned which)
{
	return seek_missing(which);
}

EXPORT void seek_test_fork_child(void)
{
	seek_fork_child();
}
