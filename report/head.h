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
#include <stdint.h>

struct head {
	const char *path; /* the caller's */
	char run[160]; /* "job ..."; "" = not said */
	int64_t rank; /* -1 = none */
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

#endif
