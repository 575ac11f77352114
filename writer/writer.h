/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer - sealed cycles of a spool become trace files.
 *
 * Threads  one at a time for one spool: the agent's writer thread, or `recover`.
 * Memory   its own maps; bounded (writer_limit), whatever the spool's size.
 * Errors   0 or -errno, said once in one line by writer_cycle.
 * Units    as in spool.h.
 *
 * The same spool gives the same bytes wherever this runs.
 */
#ifndef WRITER_WRITER_H
#define WRITER_WRITER_H

#include "agent/core/config.h"
#include "agent/core/spool.h"

struct writer_result {
	char path[4096]; /* the finished file; empty = nothing was worth writing */
	uint64_t bytes; /* of the file */
	uint64_t steps;
	uint64_t events[REC_KINDS];
	uint64_t drops[REC_KINDS];
	uint64_t cuda[CUDA_COUNTS];
	uint64_t heap[HEAP_COUNTS];
	uint64_t overhead_ns; /* estimate for the whole cycle */
};

/*
 * Writes the cycle whose descriptor is `info` to
 * <logdir>/<pattern>.<ns>.pt.trace.json[.gz] (children/ when CYCLE_CHILD): streams to
 * "<name>.part", then renames. A cycle that is still open (its process died) ends at its
 * last record. `config` as the spool header's config text. A cycle in which nothing was
 * recorded writes nothing unless it has steps.
 */
int writer_cycle(const struct spool_view *v, const struct cycle_info *info,
		 const struct config *config, struct writer_result *result);

/* The name pattern with all but %t and %% resolved in this process, as JSON text: the
 * agent stores it as the fact "file", so that `recover` gives files the same names. */
void writer_pattern(const struct config *config, const struct spool_header *h, char *buf,
		    size_t size);

/* Every cycle of a dead process's spool that is not WRITTEN or DISCARDED; used by
 * the launcher. Calls done() for each file. */
int writer_recover(const struct spool_view *v,
		   void (*done)(const struct writer_result *r, void *arg), void *arg);

/* ---- the agent's background thread (thread.c) ---- */

struct writer_hooks {
	int64_t (*tick)(void); /* sched_tick */
};
int writer_start(const struct config *config, const struct writer_hooks *hooks);
void writer_wake(void); /* a cycle was sealed, or memory is wanted */
/* The program ends and will wait for what it seals from now on: that is written at the
 * program's priority, not at the lowest. */
void writer_hurry(void);
/* Waits until all sealed cycles are written; false: some are not (or cannot be). */
bool writer_drain(int64_t ns);
void writer_forget(void); /* child after fork */
/* Around a fork: no thread of ours is there, unless a file is being written. */
void writer_pause(void);
void writer_resume(void);
void writer_wanted(void); /* a thread takes new memory: is anybody keeping it ready? */

#endif
