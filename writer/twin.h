/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twin - is a file that has our name already the one that we are about to name?
 *
 * A writer may be killed between naming a file and saying so; the one after it makes the
 * same window once more, perhaps with less: what was seen of the process from outside is
 * gone.  So not only the same bytes count: a window's trace_id is no other's.
 *
 * Threads  any.
 * Memory   two blocks of text while it looks.
 * Errors   when in doubt it is another.
 * Units    none.
 */
#ifndef WRITER_TWIN_H
#define WRITER_TWIN_H

#include <stdbool.h>

#define TWIN_ID 32

/* The digits of a file's trace_id; false: it has none. */
bool twin_id(int fd, bool gz, char id[TWIN_ID]);
/* `fd`: ours; `name` in `dir`: the other. gz: both are compressed. */
bool twin_is(int fd, int dir, const char *name, bool gz);

#endif
