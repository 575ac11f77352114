/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page - the job's page as launcher and finisher use it: by descriptor.
 *
 * Processes may write anything there, or cut it short: it is read and written, never
 * looked at through the mapping, which only serves to wait.
 *
 * Threads  any, but for page_open and page_close.
 * Memory   none.
 * Errors   0 or -errno; what cannot be read is 0.
 * Units    ns.
 */
#ifndef FINISHER_PAGE_H
#define FINISHER_PAGE_H

#include "agent/core/job.h"

struct page {
	int fd;
	void *map; /* NULL: its words cannot be waited for */
};

/* Opens it as our own, with the byte `lock` (JOB_LOCK_*) of it; -EAGAIN: another has
 * that. wait_ns: for how long it may. */
int page_open(struct page *p, const char *path, unsigned lock, int64_t wait_ns);
void page_close(struct page *p);

/* Windows handed over so far; to wait until there are more, and to wake who does. */
uint32_t page_handed(const struct page *p);
void page_wait(const struct page *p, uint32_t seen, int64_t ns);
void page_wake(const struct page *p);

/* The slot that a process took for that spool, or -1: with each exec it has another one.
 * ino 0: for any. */
int page_slot(const struct page *p, uint32_t pid, uint64_t start, uint64_t ino);
/* Its window that is open now; 0 = none. */
uint64_t page_gate(const struct page *p, int slot);
/* Has a process of the job met libtorch? */
bool page_has_torch(const struct page *p);
/* All of it as it is now. */
bool page_read_slot(const struct page *p, int slot, struct job_slot *s);
/* Ends its window, or only settles that it stays (end 0). */
void page_end_window(const struct page *p, int slot, uint64_t number, uint64_t end,
		     enum job_fate fate);
/* One window of it is done: says so, and wakes it. */
void page_written(const struct page *p, int slot);
/* It is gone. */
void page_free(const struct page *p, int slot, uint32_t pid, uint64_t ino);
/* Has a process of the job ever had a window? */
bool page_opened(const struct page *p);
/* Pids, as they call themselves, of processes that have joined the job and are there
 * still; how many, at most `most`. A fork child is its parent, even where that is gone.
 */
unsigned page_members(const struct page *p, uint32_t *pids, unsigned most);
/* overlayfs lets go of a member's lock as the member closes its descriptor, while the
 * page stays mapped: page_members() reads the maps of all processes there. */
bool page_keeps_locks(const struct page *p);
/* Processes with files of their own so far: for recover. */
uint32_t page_own(const struct page *p);
void page_set_own(const struct page *p, uint32_t n);
/* Pid of who started the job's command, whether it is there or not; 0 = nobody. */
uint32_t page_launcher(const struct page *p);
/* Nobody finishes what is left there. */
void page_leave(const struct page *p);

#endif
