/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page - the job's page as launcher and finisher use it: by descriptor.
 *
 * Processes may write anything there, or cut it short: so the page is accessed by read
 * and write, and its mapping only serves to wait.
 *
 * Threads  any, but for page_open and page_close.
 * Memory   none.
 * Errors   0 or -errno; a word that cannot be read is 0.
 * Units    ns.
 */
#ifndef FINISHER_PAGE_H
#define FINISHER_PAGE_H

#include "agent/core/job.h"

struct page {
	int fd;
	void *map; /* NULL: its words cannot be waited for */
};

/* Opens the page and locks its byte `lock` (JOB_LOCK_*); -EAGAIN: another process has the
 * lock even after wait_ns. */
int page_open(struct page *p, const char *path, unsigned lock, int64_t wait_ns);
void page_close(struct page *p);

/* page_handed: windows handed over so far; page_wait: until there are more; page_wake:
 * wakes those that wait. */
uint32_t page_handed(const struct page *p);
void page_wait(const struct page *p, uint32_t seen, int64_t ns);
void page_wake(const struct page *p);

/* The slot that a process took for that spool, or -1: with each exec a process takes
 * another. ino 0: for any spool. */
int page_slot(const struct page *p, uint32_t pid, uint64_t start, uint64_t ino);
/* The window that the slot's process has open now; 0 = none. */
uint64_t page_gate(const struct page *p, int slot);
/* Has a process of the job met libtorch? */
bool page_has_torch(const struct page *p);
/* Reads the whole slot. */
bool page_read_slot(const struct page *p, int slot, struct job_slot *s);
/* Ends the slot's window, or only settles that the window stays (end 0). */
void page_end_window(const struct page *p, int slot, uint64_t number, uint64_t end,
		     enum job_fate fate);
/* Tells the slot's process that a window is done, and wakes it. */
void page_written(const struct page *p, int slot);
/* Frees the slot of a process that is gone. */
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
/* What the control group left when the job began; UINT64_MAX = it limits nobody. */
uint64_t page_memory(const struct page *p);
/* KiB of its spool that each process may use before its heap gets no more; 0 = all. */
void page_set_heap(const struct page *p, uint32_t kib);
/* A place for the inode of a spare (spares.h), or -1: there are enough of them. */
int page_spare_place(const struct page *p);
void page_put_spare(const struct page *p, int place, uint64_t ino);
/* Pid of the launcher of the job's command, whether it is there or not; 0 = none. */
uint32_t page_launcher(const struct page *p);
/* Notes that nobody finishes what is left in the job's folder. */
void page_leave(const struct page *p);

#endif
