/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job - the page that all processes of one run share.
 *
 * Threads  slots are taken by compare-and-swap; each is written by its process.
 * Memory   a small file, mapped shared, in the spool directory of the job; found
 *          through fork, PROF_JOB, or the files named after our ancestors.
 * Errors   0 or -errno; without a page a process simply has no ancestors.
 * Units    ticks, epoch ns as named.
 */
#ifndef CORE_JOB_H
#define CORE_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define JOB_MAGIC   "PROFJOB1"
#define JOB_SLOTS   1024
#define JOB_WINDOWS 8

struct job_window { /* one window of a process that drives its own */
	_Atomic uint64_t cycle; /* its number; 0 = slot unused */
	_Atomic uint64_t begin, end; /* ticks, end 0 while open */
	_Atomic uint64_t fate; /* 0 undecided (provisional), 1 kept, 2 thrown away */
};

/* A process that only imports torch (torchrun, a forkserver) leads nobody while there is
 * an ancestor of it that uses torch. */
enum job_torch { TORCH_NONE, TORCH_FOUND, TORCH_USED };

struct job_slot {
	_Atomic uint32_t pid; /* 0 = free */
	_Atomic uint32_t torch; /* libtorch was found: it may record */
	uint64_t start_time; /* with pid: who it is */
	_Atomic uint64_t gate; /* the cycle open there, 0 = none. Followers read this. */
	_Atomic uint64_t boundaries; /* it has step boundaries of its own */
	struct job_window window[JOB_WINDOWS]; /* by cycle % JOB_WINDOWS */
};

struct job_page {
	char magic[8];
	uint32_t version, spare;
	int64_t base_ns; /* ts 0 of all files of this job */
	char id[72]; /* <host>_<pid>.<start time> of whoever made it */
	_Atomic uint32_t
		launcher; /* pid of a launcher that will finish our spools, 0 = none */
	_Atomic uint32_t told; /* bits: lines that one process of a job says for all */
	struct job_slot slot[JOB_SLOTS];
};

extern struct job_page *job; /* NULL = none */
extern struct job_slot *job_mine; /* this process's slot, or NULL */

/* A week boundary before now: the same on every host of a job, and small enough
 * that doubles of microseconds keep the nanosecond (trace-format 2.2, 8.2). */
int64_t job_base_ns(int64_t now_ns);
/* Makes <dir>/<id>.job. The launcher, or an agent without one. */
int job_make(const char *dir, uint32_t launcher_pid);
/* Removes the page's file if this process made it, and its directory if empty. */
void job_unmake(void);
/* Opens PROF_JOB's page, or one made by an ancestor process in `dir`. */
int job_join(const char *path, const char *dir);
/* Takes a slot for this process (again after fork). */
int job_enlist(void);
/* The nearest ancestor of this process that uses torch, else that found it, or NULL. */
struct job_slot *job_ancestor(void);
void job_forget(void); /* child after fork: keeps the page, drops the slot */

#endif
