/* SPDX-License-Identifier: Apache-2.0 */
/*
 * salvage - what dead processes left in the folder of a job becomes files.
 *
 * A folder is touched only with both locks of its page: nobody else makes files of it
 * then.
 *
 * Threads  one; other recovers, launchers and living processes may be at work beside it.
 * Memory   as finisher/task.h.
 * Errors   counted in totals.failed after a line; what is not ours is left alone.
 * Units    none.
 */
#ifndef LAUNCHER_RECOVER_SALVAGE_H
#define LAUNCHER_RECOVER_SALVAGE_H

#include "finisher/totals.h"

struct salvage {
	const char *logdir; /* files go there, whatever a spool says */
	const char *only; /* only spools of this log directory; NULL = all */
	void (*file)(const char *path, void *arg); /* each that was made */
	struct totals totals;
};

/* All jobs of a directory, and what lies in it itself; a directory that is not there has
 * nothing to do. */
void salvage_all(struct salvage *s, const char *dir);
/* One job. */
void salvage_job(struct salvage *s, const char *folder);

#endif
