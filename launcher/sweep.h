/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep - finish the spools that dead processes left in a directory.
 *
 * Threads  one; other sweeps and live owners may be at work in the same directory.
 * Memory   one spool mapped at a time.
 * Errors   counted in `failed` after a line; what is not ours is left alone.
 * Units    totals as in spool.h.
 */
#ifndef LAUNCHER_SWEEP_H
#define LAUNCHER_SWEEP_H

#include "agent/core/spool.h"

#include <limits.h>

struct sweep {
	/* asked */
	const char *job; /* only this job's; NULL = every dead one */
	const char *logdir; /* traces go here; NULL = where the spool says */
	void (*file)(const char *path, void *arg); /* for each file made; may be NULL */
	void *arg;

	/* found */
	unsigned spools; /* looked into, whoever owns them */
	unsigned living; /* left to a live owner */
	unsigned failed;
	unsigned made; /* files written by this sweep */

	/* totals of the finished spools, with what their owners wrote themselves */
	uint64_t files, steps, windows, missed, discarded, cost_ns;
	uint64_t events[REC_KINDS], drops[REC_KINDS], whys[DROP_WHYS];
	uint64_t cuda[CUDA_COUNTS], heap[HEAP_COUNTS];
	uint64_t boundaries, optimizer_steps, loader_nexts, backwards, marker_hits;
	char chosen[64]; /* by the process with most boundaries */
	char last_file[PATH_MAX];
};

/* Sweeps `dir`; a directory that is not there has nothing to do. */
void sweep_dir(struct sweep *s, const char *dir);
/* A spool that lies in memory; true: it is finished, or nobody's of this job. */
bool sweep_memory(struct sweep *s, int fd);
/* Removes job pages that nobody uses any more, then `dir` itself when it is empty. */
void sweep_pages(const char *dir);

#endif
