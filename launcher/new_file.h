/* SPDX-License-Identifier: Apache-2.0 */
/*
 * new_file - a file that has its name only when it is whole.
 *
 * Threads  one, and one file at a time: from open to keep or drop SIGHUP, SIGINT,
 * SIGQUIT, SIGTERM and SIGPIPE remove the part first. Memory   the stream's. Errors
 * false, and a line in `why`; nothing is left behind then. Units    none.
 */
#ifndef LAUNCHER_NEW_FILE_H
#define LAUNCHER_NEW_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct new_file {
	const char *path;
	FILE *out;
	char part[4096]; /* its name until then */
};

/* Is it the other file, which would be written over? A link is refused as such. */
bool new_file_is(const char *path, const char *other);
/* May a file of that name be written? A link may not, nor anything but a file, nor a
 * trace, which no second run would bring back. */
bool new_file_may_be(const char *path, char *why, size_t size);
/* `most`: the permissions that it may have, as far as the umask gives them. */
bool new_file_open(struct new_file *f, const char *path, mode_t most, char *why,
		   size_t size);
/* The permissions of a file that what is written is made of: who may not read it shall
 * not read that, either. */
mode_t new_file_as(const char *source);
bool new_file_keep(struct new_file *f, char *why, size_t size);
void new_file_drop(struct new_file *f);

#endif
