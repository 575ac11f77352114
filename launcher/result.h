/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result - a text that is made in memory, and shown when all of it is there: on standard
 * output, through a pager where that is a terminal, or as a new file.
 *
 * Threads  one.
 * Memory   the text; result_show frees it.
 * Errors   false after a line on stderr.
 * Units    none.
 */
#ifndef LAUNCHER_RESULT_H
#define LAUNCHER_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct result {
	FILE *out;
	char *text;
	size_t len;
	mode_t most; /* of the file: what new_file_as says of the source */
};

/* May a verb write what it makes of the sources to `path`? NULL: standard output. False
 * after a line. */
bool result_may_go_to(const char *path, char *const *sources, size_t n);
/* The permissions that a file of what the sources say may have: who may not read one of
 * them shall not read that. */
mode_t result_most(char *const *sources, size_t n);
bool result_begin(struct result *r);
/* `path`: NULL = standard output. With `keep` false the text is dropped. */
bool result_show(struct result *r, const char *path, bool keep);

#endif
