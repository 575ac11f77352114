/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refill - trace files whose call stacks are module and offset get names and lines.
 *
 * Threads  one.
 * Memory   what lies before the file's events, twice.
 * Errors   a file that is not ours, or the user's, or has nothing to fill in, is left as
 *          it is; what fails is said in a line.
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
/* One finished file. */
void refill_file(struct refill *r, const char *path);
/* Those of a log directory. */
void refill_dir(struct refill *r, const char *dir);

/* refill_heap.c: the object "heap" with what could be resolved; free() it. NULL: there is
 * nothing to fill in, or nothing more is known of it. */
char *refill_heap(const char *heap, size_t len, size_t *new_len);

#endif
