/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder - the trace files of a directory, and a table of whose memory they hold.
 *
 * Threads  one at a time.
 * Memory   folder_free gives all back.
 * Errors   -1 with a line in `why`.
 * Units    bytes; bytes a step.
 */
#ifndef REPORT_MEMORY_FOLDER_H
#define REPORT_MEMORY_FOLDER_H

#include "report/memory/memory.h"

struct folder_file {
	char *path;
	/* The program's name, and that of what it interprets; NULL = the file does not
	 * say. */
	char *name, *script;
	int64_t pid, rank, window;
	char stage[HEAD_STAGE]; /* "" = none */
	int64_t peak; /* of the space that held most */
	int64_t resident; /* the most resident bytes; 0 = not known */
	int64_t growth; /* of that space, bytes a step; 0 with fewer than two steps */
	uint64_t missing;
	bool read; /* the file could be read */
	bool memory; /* the file has memory events */
	bool small; /* no libtorch, and no more than a few MiB */
	bool table; /* it is itself a table of small processes */
};

struct folder {
	struct folder_file *files;
	size_t n, room;
};

/* Lists the *.pt.trace.json[.gz] below a directory, whatever they hold. */
int folder_list(struct folder *f, const char *path, char *why, size_t size);
/* Notes what the view tells of a file. */
void folder_note(struct folder_file *file, const struct memory_view *v);
/* Prints the largest peak first; small processes are one row. */
void folder_print(struct folder *f, const char *path, FILE *out);
void folder_json(const struct folder *f, const char *path, FILE *out);
void folder_free(struct folder *f);

#endif
