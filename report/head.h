/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head - what a trace file says before its events: whose it is, without reading it whole.
 *
 * Threads  one at a time.
 * Memory   of fixed size.
 * Errors   false: no regular file, or it does not end as a finished one does. What cannot
 *          be read is not known.
 * Units    in the comments.
 */
#ifndef REPORT_HEAD_H
#define REPORT_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAD_STAGE 32 /* a stage's name at most, its end among it */

struct head {
	const char *path; /* the caller's */
	char run[160]; /* "job ..."; "" = not said */
	int64_t rank; /* -1 = none */
	char stage[HEAD_STAGE]; /* of the run; "" = none */
	int64_t stage_number; /* 1 = the first one; 0 = none */
	int64_t window, pid;
	int64_t parent; /* whose child the process is; 0 = not said */
	int64_t changed; /* when, in ns since 1970 */
	bool ours; /* written by proflaunch */
	bool operators; /* has some, as far as it is known */
	bool child; /* lies in a folder "children" */
};

bool head_read(struct head *h, const char *path);
/* Does the file's name, or what stands before its events, say that it is a trace? It may
 * be cut; what may not be read may be one. */
bool head_is_trace(const char *path);

/* Orders two of a run: what is of no stage first, then by the stages' numbers. */
int head_by_stage(const struct head *a, const struct head *b);
/* Is it of the stage that is wanted, as a user may write its name? NULL: of any. */
bool head_has_stage(const struct head *h, const char *wanted);
/* Takes a name if it is one that a stage may have; else "". */
void head_stage(char to[HEAD_STAGE], const char *name, size_t len);

#endif
