/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task - the windows of one spool become files: by a finisher, or by `recover`.
 *
 * Threads  one at a time.
 * Memory   as writer/copy.h; one window at a time.
 * Errors   0 = nothing is left to be done; -ENODATA = nothing was recorded; -ECANCELED;
 *          else why something is left there.
 * Units    none.
 */
#ifndef FINISHER_TASK_H
#define FINISHER_TASK_H

#include "finisher/leader.h"
#include "finisher/shared.h"
#include "finisher/small.h"

#define TASK_OWN 20 /* processes of a job that have files of their own in any case */

struct task_how {
	const char *logdir; /* files go there, whatever the spool says */
	struct totals *totals;
	_Atomic uint32_t *own; /* processes with files of their own so far */
	struct shared *shared; /* NULL in recover */
	const struct page *page; /* NULL where there is none */
	struct small_rows *rows;
	uint32_t launcher; /* the command's parent; 0 = not known */
	void (*file)(const char *path, void *arg); /* called for each file; may be NULL */
	void *arg;
};

struct task {
	const struct task_how *how;
	const char *name; /* of the spool */
	int fd; /* open for writing, if its process lives */
	uint64_t ino;
	bool dead; /* its process is gone: all that is left there is ours */
	bool own; /* its process has files of its own: kept from task to task */
	struct leader_cut cut; /* of the open window */
	const struct rec_heap *seen; /* the finisher's samples, by time */
	size_t seen_n;
};

int task_run(struct task *t);

#endif
