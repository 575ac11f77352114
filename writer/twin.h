/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twin - is a file that has our name already the one that we are about to name?
 *
 * A writer may be killed between naming a file and saying so; the next writer makes the
 * same window once more, perhaps with less: what the finisher saw of the process is gone.
 * So the bytes may differ: a window's trace_id, which no other has, tells, too.
 *
 * Threads  any.
 * Memory   two blocks of text while it looks.
 * Errors   in doubt the other file counts as another window's.
 * Units    none.
 */
#ifndef WRITER_TWIN_H
#define WRITER_TWIN_H

#include <stdbool.h>

#define TWIN_ID 32

/* Reads the digits of a file's trace_id; false: it has none. */
bool twin_id(int fd, bool gz, char id[TWIN_ID]);
/* Is `name` in `dir` of the same window as our file `fd`? gz: both are compressed. */
bool twin_is(int fd, int dir, const char *name, bool gz);

#endif
