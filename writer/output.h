/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output - a trace file: <name>.part while it grows, renamed when it is whole.
 *
 * Threads  one at a time.
 * Memory   compression works in maps of its own, given back at the end.
 * Errors   0 or -errno; after an error the .part is removed by output_abort.
 * Units    bytes.
 */
#ifndef WRITER_OUTPUT_H
#define WRITER_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "writer/part.h"

#define OUTPUT_PATH  4096
#define OUTPUT_BLOCK (256 * 1024) /* of text in one gzip member */

struct output {
	int fd, dir; /* the file while it grows, and the directory that it lies in */
	bool gz;
	const char *below; /* the directory `path` must not leave; may be NULL */
	char path[OUTPUT_PATH]; /* where the file goes; after output_finish its name */
	char part[PART_NAME]; /* the file's name in `dir` while it grows; "": none */
	uint64_t stamp; /* for a name without a time, if that is taken; 0: none */
	uint64_t bytes; /* written so far */
	void *compressor;
	char *packed; /* one compressed block */
	size_t packed_size;
};

/* Makes the directories and <path>.part, always a new file, and keeps the directory open:
 * so nobody can put another in its place. -ELOOP where a symbolic link is in the way that
 * another user can have made (folder.h). Where `path` begins with `dir`, which may be
 * NULL, the part behind `dir` follows no link and does not leave it, whoever chose the
 * name. */
int output_open(struct output *o, const char *dir, const char *path, bool gz);
/* Writes one block of text, at most OUTPUT_BLOCK bytes; with gz it becomes one member. */
int output_write(struct output *o, const char *text, size_t len);
/* Renames the file. Where another file has the name, ".<stamp>" is put behind the name,
 * if there is a stamp; then "-2", "-3", ... behind its first part. Where that other file
 * is of the same window, it stays instead (a writer made it and died before it could
 * tell: twin.h). Where somebody has removed the directory meanwhile it is made again. */
int output_finish(struct output *o);
/* Renames the file onto the one that was there before. */
int output_replace(struct output *o);
void output_abort(struct output *o);
/* The text for an error of these calls. */
const char *output_error(int err);

#endif
