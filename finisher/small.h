/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small - processes that live for milliseconds: a row each of one file of the job.
 *
 * Rows are appended to the file `rows` in the job's folder as they come, so that a killed
 * finisher loses none; whoever finishes the job makes the trace file of them.  A process
 * that is there twice, because a finisher was killed before it could note it as done,
 * becomes one row.
 *
 * Threads  one.
 * Memory   all rows while the file is made.
 * Errors   0 or -errno.
 * Units    epoch ns, bytes.
 */
#ifndef FINISHER_SMALL_H
#define FINISHER_SMALL_H

#include "writer/writer.h"

#define SMALL_ROWS "rows"

/* The most rows of a file, fewer in tests; a line says how many more there were. */
extern uint32_t small_most;

struct small_rows {
	int folder; /* the job's, as a descriptor */
	int fd; /* of the rows; -1: not opened yet. It may outlive the folder. */
};

int small_add(struct small_rows *rows, const struct spool_header *head,
	      const struct writer_small *s);
/* Makes <logdir>/children/<job>.pt.trace.json[.gz]; *n: how many rows it has, 0 = there
 * are none, and no file. The file of rows goes. `path` gets the trace file's path. */
int small_write(struct small_rows *rows, const char *logdir, const char *job, bool gz,
		uint64_t *n, char *path, size_t size);
void small_close(struct small_rows *rows);

#endif
