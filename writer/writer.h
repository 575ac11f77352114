/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer - sealed cycles of a spool become trace files.
 *
 * Threads  one at a time for one spool: the agent's writer thread, or `recover`.
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

/* A process too small for a file of its own: a row among others'. */
struct writer_small {
	int64_t begin_ns, end_ns; /* epoch */
	int64_t peak; /* live bytes of the heap at most */
	uint64_t allocs, frees;
	uint64_t resident; /* bytes at most, as far as seen */
};

struct writer_result {
	char path[4096]; /* the finished file; empty = nothing was worth writing */
	bool is_small; /* there is no file: `small` says all */
	struct writer_small small;
	uint64_t bytes; /* of the file */
	uint64_t steps; /* ours, and those of the program's own profiler */
	uint64_t heap_rows; /* allocations that are events of the file */
	uint64_t peak; /* of the heap, or of a device's tensors: what is more */
	uint64_t events[REC_KINDS];
	uint64_t drops[REC_KINDS];
	uint64_t cuda[CUDA_COUNTS];
	uint64_t heap[HEAP_COUNTS];
	uint64_t overhead_ns; /* estimate for the whole cycle (writer/cost.c) */
	uint64_t torch_ns; /* of that, libtorch's part, which is reckoned */
};

/* The name pattern with all but %t and %% resolved in this process, as JSON text: the
 * agent stores it as the fact "file", so that `recover` gives files the same names. */
void writer_pattern(const struct config *config, const struct spool_header *h, char *buf,
		    size_t size);

/* What one window is written for: by the finisher or `recover`, in another process. */
struct writer_plan {
	/* Which of the spool's own options count: it may be hostile. May be NULL. */
	void (*settle)(struct config *config, void *arg);
	/* Is it this one's turn? NULL: all that a dead process left. */
	bool (*wanted)(const struct cycle_info *info, void *arg);
	/* Is the process to be a row if it is small enough? NULL: never. */
	bool (*small)(void *arg);
	/* It is about to be read. May be NULL. */
	void (*begins)(const struct cycle_info *info, void *arg);
	/* err: 0 or why there is no file. `state`: where the window's lies in the file.
	 */
	void (*done)(const struct cycle_info *info, uint64_t state, int err,
		     const struct writer_result *r, void *arg);
	/* What the finisher saw of the process: by time. */
	const struct rec_heap *seen;
	size_t seen_n;
	void *arg;
};

/* Each window of the copy that is wanted, the oldest first. 0 or the last error. */
struct copy;
int writer_recover(struct copy *c, const struct writer_plan *plan);
/* Windows of dead processes that nobody has written: whatever the process said last. */
bool writer_unwritten(const struct cycle_info *info);

/* Called all along: not 0 ends what is being written (-ECANCELED). May be NULL. */
extern int (*writer_beat)(void);
/* Called before the file is begun, with its path. May be NULL. */
extern void (*writer_begins)(const char *path);

/* ---- the agent's own threads (thread.c) ---- */

struct writer_hooks {
	int64_t (*tick)(void); /* sched_tick: returns ns until it wants to be called */
	void (*sample)(void); /* heap_tick; NULL = nothing to sample. Opens files. */
	bool alone; /* there is no finisher: files are made here */
};
/* *config is not copied: it stands as long as the process. */
int writer_start(const struct config *config, const struct writer_hooks *hooks);
void writer_need(void); /* windows of torch, CUDA or the clock are coming */
void writer_wake(void); /* a cycle was sealed, or is complete now */
/* The program ends. `waits`: for what it seals from now on, so that this is written at
 * the program's priority, not at the lowest; else a finisher takes that, and where there
 * is no keeper none is made for it. */
void writer_last(bool waits);
/* Waits until all sealed cycles are written; false: some are not (or cannot be). Does not
 * wait for a thread that cannot be made. */
bool writer_drain(int64_t ns);
void writer_stop(void); /* for good ... */
void writer_go_on(void); /* ... or not */
void writer_forget(void); /* child after fork */
/* Around a fork: no thread of ours is there, unless a file is being written: false. None
 * comes until writer_resume. */
bool writer_pause(void);
void writer_resume(void);
void writer_wanted(void); /* a thread takes new memory: is anybody keeping it ready? */

#endif
