/* SPDX-License-Identifier: Apache-2.0 */
/*
 * salvage - makes files of what dead processes left in the folder of a job.
 *
 * A folder is touched only with both locks of its page: nobody else makes files of it
 * then.
 *
 * Threads  one; other recovers, launchers and living processes may be at work beside it.
 * Memory   as finisher/task.h.
 * Errors   counted in totals.failed after a line; other users' files are left alone.
 * Units    none.
 */
#ifndef LAUNCHER_RECOVER_SALVAGE_H
#define LAUNCHER_RECOVER_SALVAGE_H

#include "finisher/totals.h"

struct salvage {
	const char *logdir; /* files go there, whatever a spool says */
	const char *only; /* only spools of this log directory; NULL = all */
	void (*file)(const char *path, void *arg); /* called for each file made */
	struct totals totals;
	int64_t waited_ns; /* for locks, so far */
};

/* Salvages all jobs of a directory, and spools in the directory itself; does nothing
 * where there is no directory. */
void salvage_all(struct salvage *s, const char *dir);
/* Salvages one job. */
void salvage_job(struct salvage *s, const char *folder);

#endif
