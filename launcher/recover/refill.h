/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refill - trace files whose call stacks are module and offset get names and lines.
 *
 * Threads  one.
 * Memory   the text before the file's events, twice.
 * Errors   a file that is not ours, or the user's, or has nothing to fill in, is left as
 *          it is; a line tells of a failure.
 * Units    none.
 */
#ifndef LAUNCHER_RECOVER_REFILL_H
#define LAUNCHER_RECOVER_REFILL_H

#include <stdbool.h>
#include <stddef.h>

struct refill {
	unsigned filled, failed;
};

bool refill_is_trace(const char *path); /* by its name */
/* Fills in one finished file. */
void refill_file(struct refill *r, const char *path);
/* Fills in the files of a log directory. */
void refill_dir(struct refill *r, const char *dir);

/* refill_heap.c: returns the object "heap" with the names that are known; free() it.
 * NULL: there is nothing to fill in, or nothing more is known. */
char *refill_heap(const char *heap, size_t len, size_t *new_len);

#endif
