/* SPDX-License-Identifier: Apache-2.0 */
/*
 * new_file - a file that has its name only when it is whole.
 *
 * Threads  one.
 * Memory   the stream's.
 * Errors   false, and a line in `why`; nothing is left behind then.
 * Units    none.
 */
#ifndef LAUNCHER_NEW_FILE_H
#define LAUNCHER_NEW_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct new_file {
	bool trace; /* set by the caller: the text is a trace, and may replace one that is
		       not named as profilers name theirs */
	const char *path;
	FILE *out;
	char part[4096]; /* its name until then */
};

/* Is it the other file, which would be written over? A link is refused as such. */
bool new_file_is(const char *path, const char *other);
/* May a file of that name be written? A link may not, nor anything but a file, nor a
 * trace, which no second run would bring back. */
bool new_file_may_be(const char *path, bool trace, char *why, size_t size);
bool new_file_open(struct new_file *f, const char *path, char *why, size_t size);
bool new_file_keep(struct new_file *f, char *why, size_t size);
void new_file_drop(struct new_file *f);

#endif
