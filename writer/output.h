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

#define OUTPUT_PATH  4096
#define OUTPUT_BLOCK (256 * 1024) /* of text in one gzip member */

struct output {
	int fd;
	bool gz;
	char path[OUTPUT_PATH]; /* where it goes; the one it got after output_finish */
	char part[OUTPUT_PATH + 8];
	uint64_t bytes; /* written so far */
	void *compressor;
	char *packed; /* one compressed block */
	size_t packed_size;
};

/* Makes the directories and <path>.part. */
int output_open(struct output *o, const char *path, bool gz);
/* One block of text, at most OUTPUT_BLOCK bytes; with gz it becomes one member. */
int output_write(struct output *o, const char *text, size_t len);
/* Renames. Where another file has the name, "-2", "-3", ... is put behind its first
 * part; where that file says the same as ours, it is ours (from a writer that died
 * before it could tell). */
int output_finish(struct output *o);
void output_abort(struct output *o);

#endif
