/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workers - what a process's children did in its steps: the workers of a DataLoader.
 *
 * Their files lie in the folder "children" beside the process's own. A worker is busy
 * while an operator or an annotation runs in it, on any thread: plain Python is not
 * recorded, and looks idle.
 *
 * Threads  one at a time.
 * Memory   64 bytes a worker, the model of one of them meanwhile; workers_free.
 * Errors   false: not enough memory. A file that cannot be read is passed over, and
 *          counted.
 * Units    nanoseconds.
 */
#ifndef REPORT_RANKS_WORKERS_H
#define REPORT_RANKS_WORKERS_H

#include "report/figures/steps.h"

struct worker {
	int64_t pid;
	uint32_t name; /* a text of the process's model; TEXT_NONE = none */
	uint64_t operators; /* that lie in no other */
	int64_t recorded, busy; /* in the steps */
	int64_t helpful; /* of busy: while the process waited for data */
};

struct workers {
	struct worker *row; /* by pid */
	size_t n, room;
	size_t unread; /* files of children that could not be read */
	int64_t waited; /* how long the process waited for data, in the steps */
};

/* `path`: the process's file, that `m` and `s` are of. Names are added to its texts. */
bool workers_make(struct workers *w, const char *path, struct model *m,
		  const struct steps *s);
void workers_free(struct workers *w);

#endif
