/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heads - of which runs the traces below a directory are, and what each run has.
 *
 * Threads  one at a time.
 * Memory   a struct head a file, whose paths are the folder's; heads_free.
 * Errors   false: not enough memory.
 * Units    those of head.
 */
#ifndef REPORT_HEADS_H
#define REPORT_HEADS_H

#include "report/head.h"
#include "report/memory/folder.h"

struct heads {
	struct head *row; /* each has a run */
	size_t n, room, unfinished;
};

/* Reads those of files that were changed from `since` on, in ns since 1970. */
bool heads_read(struct heads *all, const struct folder *f, int64_t since);
void heads_free(struct heads *all);

/* Write what a run has, in order; "" = none. Ranks and windows are "0 to 3", or "2";
 * stages "train, validation". `stage`: windows of that one alone; NULL = of any. */
void heads_ranks(const struct heads *all, const char *run, char *to, size_t size);
void heads_windows(const struct heads *all, const char *run, const char *stage, char *to,
		   size_t size);
void heads_stages(const struct heads *all, const char *run, char *to, size_t size);

#endif
