/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job - the page that all processes of one run share.
 *
 * Page and spools lie in a folder of the job's own, <spool folder>/<id>/: two launchers
 * never look at each other's.  Launcher and finisher each hold a byte lock on the page
 * for life (JOB_LOCK_*): a process that gets both knows that no other will make files.
 *
 * Threads  slots are taken by compare-and-swap; each is written by its process, but for
 *          `written` (the finisher's) and the freeing of slots of the dead.
 * Memory   a small file, mapped shared; found through fork, PROF_JOB
 *          ("<inode>:<path>"), or the folders named after our ancestors.
 * Errors   0 or -errno; without a page a process simply has no ancestors.
 * Units    ticks, epoch ns as named.
 */
#ifndef CORE_JOB_H
#define CORE_JOB_H

#include "agent/core/said.h"
#include "base/tally.h"
#include "config/aside.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_MAGIC   "PROFJOB7"
#define JOB_PAGE    "page" /* name of the file in the job's folder */
#define JOB_SLOTS   1024
#define JOB_WINDOWS 8
#define JOB_SPARES  64

struct job_window { /* one window of a process that drives its own */
	_Atomic uint64_t cycle; /* its number; 0 = slot unused */
	_Atomic uint64_t begin, end; /* ticks, end 0 while open */
	_Atomic uint64_t fate; /* enum job_fate */
};

enum job_fate { FATE_OPEN, FATE_KEPT, FATE_THROWN }; /* open: it is provisional */

/* A process that only imports torch (torchrun, a forkserver) leads nobody while there is
 * an ancestor of it that uses torch. */
enum job_torch { TORCH_NONE, TORCH_FOUND, TORCH_USED };

struct job_slot {
	_Atomic uint32_t pid; /* 0 = free */
	_Atomic uint32_t torch; /* enum job_torch: has the process met libtorch? */
	uint64_t start_time; /* names the process, with pid; an exec changes neither */
	_Atomic uint64_t gate; /* the cycle open there, 0 = none. Followers read this. */
	_Atomic uint64_t boundaries; /* how many step boundaries of its own it has had */
	struct job_window window[JOB_WINDOWS]; /* by cycle % JOB_WINDOWS */
	_Atomic uint32_t written; /* futex: windows the finisher is done with */
	uint32_t spool; /* lower half of its spool's inode; an exec changes that */
	/* The window that the open window here follows: leader is its process, pid << 32
	 * | slot, 0 = none; leads its number there. When it ends, the finisher ends the
	 * one here, in `window`. */
	_Atomic uint64_t leader, leads;
};

/* Bytes of the page: OFD locks.  From JOB_LOCK_MEMBER on, by pid: the processes that map
 * it. Such a lock is shared, and goes with the last mapping, a fork child's, too. */
enum { JOB_LOCK_LAUNCHER, JOB_LOCK_FINISHER, JOB_LOCK_MEMBER = 1 << 24 };

/* Bits of `told` that others read: a process has met libtorch, or an unusable one. */
enum { JOB_TOLD_TORCH = 1u << 12, JOB_TOLD_MUTE_TORCH = 1u << 14 };

struct job_page {
	char magic[8];
	_Atomic uint32_t own; /* processes with files of their own: the finisher's */
	int64_t base_ns; /* ts 0 of all files of this job */
	char id[72]; /* <host>_<pid>.<start time> of the page's maker */
	_Atomic uint32_t launcher; /* pid of who will finish our spools, 0 = none */
	uint32_t launched; /* the same, also when that has gone; 0 = there was none */
	_Atomic uint32_t told; /* bits: lines that one process of a job says for all */
	char host[72], boot_id[40]; /* of its maker's machine: nobody reads them again */
	uint64_t clock_kind; /* enum clock_kind, of this machine */
	uint64_t memory; /* what the control group leaves, if little; else UINT64_MAX */
	uint64_t cpus; /* ... its quota, hundredths of a CPU; UINT64_MAX = none */
	_Atomic uint32_t heap_most; /* chunk_spares, KiB: the finisher's; 0 = all */
	_Atomic uint32_t handed; /* futex: windows handed over (CYCLE_QUIET) */
	_Atomic uint32_t aside[ASIDE_KINDS]; /* programs that ran without the agent */
	_Atomic uint32_t inner; /* launchers below this one: jobs of their own */
	_Atomic uint32_t unrecorded; /* processes without a place for records */
	_Atomic uint32_t confined; /* ... which a program forked after seccomp */
	struct tally programs; /* that ran with the agent, by their starts */
	_Atomic uint64_t known[ASIDE_KNOWN]; /* what files were found to be (aside.c) */
	_Atomic uint64_t spare[JOB_SPARES]; /* inodes (spare.h); 0 = none there */
	struct job_slot slot[JOB_SLOTS];
	struct said said;
};

extern struct job_page *job; /* NULL = none */
extern struct job_slot *job_mine; /* this process's slot, or NULL */

/* A week boundary before now: the same on every host of a job, and small enough
 * that doubles of microseconds keep the nanosecond. */
int64_t job_base_ns(int64_t now_ns);
/* Makes <dir>/<id>/ and the page in it. The launcher, or an agent without one. */
int job_make(const char *dir, uint32_t launcher_pid);
/* Where page and spools lie; "" without a page. */
const char *job_folder(void);
/* What PROF_JOB is to say. Returns its length. */
size_t job_name(char *buf, size_t size);
/* Removes the page's file if this process made it, and its directories if empty. */
void job_unmake(void);
/* Opens PROF_JOB's page, or a page that this process or an ancestor made in `dir`. */
int job_join(const char *named, const char *dir);
/* Takes a slot for this process (again after fork). */
int job_enlist(void);
/* The nearest ancestor of this process that uses torch, else that found it, or NULL. */
struct job_slot *job_ancestor(void);
/* A window was handed over: wakes the finisher. */
void job_handed(void);
/* Takes both byte locks, if neither launcher nor finisher is there: then the caller
 * writes what it has handed over. For a thread with descriptors of its own. */
bool job_take_over(void);
void job_give_back(void); /* ... and lets go of both locks */
void job_forget(void); /* child after fork: keeps the page, drops the slot */

#endif
