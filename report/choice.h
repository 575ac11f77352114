/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choice - which file is meant: the one that is named, or of a directory the newest
 * run's.
 *
 * A run is a job of proflaunch. The ranks of a distributed program, and files that no
 * proflaunch wrote, are of one run where they lie in one directory. Of the run it is the
 * newest finished file of the lowest rank, of its first stage; files without operators,
 * and those of child processes, only where there is no other.
 *
 * Threads  one at a time.
 * Memory   of fixed size, and the windows' paths; choice_free.
 * Errors   false with a line in `why`.
 * Units    none.
 */
#ifndef REPORT_CHOICE_H
#define REPORT_CHOICE_H

#include "report/head.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHOICE_ANY (-1)

struct choice {
	int64_t rank, window; /* what is wanted: CHOICE_ANY, or a number */
	const char *stage; /* likewise: NULL, or a name */
	int64_t since; /* wanted: files changed from then on, in ns since 1970 */
	char path[PATH_MAX];
	char chosen[HEAD_STAGE]; /* its stage; "" = none, or a file was named */
	/* Which one it is, out of how many, and how to choose another; "" = a file was
	 * named. */
	char line[3 * PATH_MAX];
	bool all; /* wanted: all windows of the process and stage that `path` is of */
	bool ranks; /* wanted: those of all ranks in the stage and window of `path` */
	/* Their paths, by number of the window or rank; of a file that was named, it
	 * alone. */
	char **windows;
	size_t windows_n, windows_room;
};

bool choice_make(struct choice *c, const char *place, char *why, size_t size);
void choice_free(struct choice *c);

#endif
