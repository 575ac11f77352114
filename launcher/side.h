/* SPDX-License-Identifier: Apache-2.0 */
/*
 * side - one of the two runs that diff and gate compare, as it is named on the command
 * line: a trace file, or a directory.
 *
 * Threads  one.
 * Memory   that of its profile; side_free.
 * Errors   false after a line on stderr.
 * Units    none.
 */
#ifndef LAUNCHER_SIDE_H
#define LAUNCHER_SIDE_H

#include "report/choice.h"
#include "report/compare/difference.h"

#include <sys/types.h>

struct side {
	const char *place;
	struct choice choice;
	struct profile profile;
};

/* Reads a file, or all windows of the process whose file would be chosen of a directory,
 * and says which they are. `rank`: CHOICE_ANY, or a number; `stage`: NULL, or a name. */
bool side_read(struct side *s, const char *place, int64_t rank, const char *stage);
void side_free(struct side *s);
struct difference_side side_named(const struct side *s);
/* The permissions of what is made of both: result_most. */
mode_t side_most(const struct side *a, const struct side *b);

#endif
