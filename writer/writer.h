/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer - sealed cycles of a spool become trace files.
 *
 * Threads  one at a time for one spool: the agent's formatter, the finisher or `recover`.
 * Memory   its own maps, given back after each file.
 * Errors   0 or -errno, said once in one line by write_trace.
 * Units    as in spool.h.
 *
 * The same spool gives the same bytes wherever this runs.
 */
#ifndef WRITER_WRITER_H
#define WRITER_WRITER_H

#include "agent/core/record_heap.h"
#include "agent/core/spool_view.h"
#include "config/config.h"
#include "writer/flops_sum.h"

/* A process too small for a file of its own: it becomes a row in a common one. */
struct writer_small {
	int64_t begin_ns, end_ns; /* epoch */
	int64_t peak; /* the most live bytes of the heap */
	uint64_t allocs, frees;
	uint64_t resident; /* the most bytes that were seen */
};

/* Moments of which a file has two stacks, a native one and Python's. */
struct writer_merges {
	/* Merged; apart, as one of them was cut, or as they do not fit each other. */
	uint64_t done, cut, unfit;
	unsigned deepest; /* frames of the deepest stack, but below STACKS_MOST */
};

struct writer_result {
	char path[4096]; /* the finished file; empty = nothing was worth writing */
	bool is_small; /* there is no file: `small` has all */
	struct writer_small small;
	uint64_t bytes; /* of the file */
	uint64_t steps; /* the agent's, and those of the program's own profiler */
	uint64_t heap_rows; /* allocations that are events of the file */
	uint64_t peak; /* of the heap, or of a device's tensors: the larger */
	uint64_t events[REC_KINDS];
	uint64_t drops[REC_KINDS];
	uint64_t cuda[CUDA_COUNTS];
	uint64_t heap[HEAP_COUNTS], python[PYTHON_COUNTS];
	struct writer_merges merges;
	struct flops_total flops;
	uint64_t overhead_ns; /* estimate for the whole cycle (writer/cost.c) */
	uint64_t torch_ns; /* libtorch's part of it, calculated */
};

/* The name pattern with all but %t and %% resolved in this process, as JSON text: the
 * agent stores it as the fact "file", so that `recover` gives files the same names. */
void writer_pattern(const struct config *config, const struct spool_header *h, char *buf,
		    size_t size);

/* How windows are written in another process: the finisher, or `recover`. */
struct writer_plan {
	/* Decides which of the spool's own options count: it may be hostile. May be
	 * NULL. */
	void (*settle)(struct config *config, void *arg);
	/* Is this window to be written? NULL: all that a dead process left are. */
	bool (*wanted)(const struct cycle_info *info, void *arg);
	/* May the process become a row if it is small enough? NULL: never. */
	bool (*small)(void *arg);
	/* Called before a window is read. May be NULL. */
	void (*begins)(const struct cycle_info *info, void *arg);
	/* After it. err: 0 or why there is no file; `state`: its offset in the spool. */
	void (*done)(const struct cycle_info *info, uint64_t state, int err,
		     const struct writer_result *r, void *arg);
	/* The finisher's own samples of the process, by time. */
	const struct rec_heap *seen;
	size_t seen_n;
	void *arg;
};

/* Writes each window of the copy that is wanted, the oldest first. 0 or the last
 * error. */
struct copy;
int writer_recover(struct copy *c, const struct writer_plan *plan);
/* Has nobody written this window of a dead process, nor thrown it away? */
bool writer_unwritten(const struct cycle_info *info);

/* Called again and again while a file is written: a result other than 0 ends that
 * (-ECANCELED). May be NULL. */
extern int (*writer_beat)(void);
/* Called before the file is begun, with its path. May be NULL. */
extern void (*writer_begins)(const char *path);

/* ---- the agent's own threads (thread.c) ---- */

struct writer_hooks {
	int64_t (*tick)(void); /* sched_tick; returns ns to its next call */
	void (*sample)(void); /* heap_tick; NULL = nothing to sample. Opens files. */
	bool alone; /* there is no finisher: files are made here */
};
/* *config is not copied: it must stay as long as the process. */
int writer_start(const struct config *config, const struct writer_hooks *hooks);
void writer_need(void); /* windows of torch, CUDA or the clock are coming */
void writer_wake(void); /* a cycle was sealed, or is complete now */
/* The program ends. `waits`: it waits for the windows that it seals from now on, so that
 * they are written at its priority, not at the lowest; else a finisher takes them, and
 * where there is no keeper none is started for that. */
void writer_last(bool waits);
/* Waits until all sealed cycles are written; false: some are not (or cannot be). Does not
 * wait for a thread that cannot be made. */
bool writer_drain(int64_t ns);
void writer_stop(void); /* for good ... */
void writer_go_on(void); /* ... or not */
void writer_forget(void); /* child after fork */
/* Before a fork: the agent's threads leave, and none comes until writer_resume. False:
 * one is still there, as a file is being written. */
bool writer_pause(void);
void writer_resume(void);
/* The same, but nothing is started. True: a keeper is needed: writer_wake follows. */
bool writer_unpause(void);
void writer_wanted(void); /* a thread takes new memory: is a keeper there? */

#endif
