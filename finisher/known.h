/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known - the spools of a job: found as they appear, watched as long as they live.
 *
 * Threads  one; what a task needs of a spool is handed to the other thread whole.
 * Memory   malloc: some 300 bytes a process, and what was seen of it.
 * Errors   a spool that cannot be opened is tried again at the next look.
 * Units    ns.
 */
#ifndef FINISHER_KNOWN_H
#define FINISHER_KNOWN_H

#include "finisher/leader.h"
#include "finisher/life.h"
#include "finisher/page.h"
#include "finisher/shared.h"

enum known_state {
	KNOWN_LIVE,
	KNOWN_DEAD, /* its process is gone */
	KNOWN_LEFT, /* it cannot be finished, or killed a finisher */
	KNOWN_OVER /* nothing is there any more */
};

struct known {
	char name[SHARED_NAME];
	uint32_t hash; /* of the name */
	int fd; /* -1: too many are open */
	enum known_state state;
	bool busy; /* the worker has it */
	bool headed; /* it has a header: something was recorded */
	bool look; /* a window may have been handed over */
	bool own; /* as in struct task */
	bool meanwhile; /* of a dead process: its window is kept back ... */
	int64_t until_ns; /* ... until then */
	bool lockless; /* its process lives, though nobody holds its lock (overlayfs) */
	bool watched; /* the finisher samples its memory while a window is open */
	int held; /* the launcher's number of a spool in memory; -1 = a file */
	uint32_t pid; /* 0 = of another pid namespace */
	uint32_t own_pid; /* the pid that the process has for itself */
	uint64_t start, ino;
	int64_t look_ns; /* when its process is looked for next, whatever its lock says */
	int slot, statm; /* -1 = none */
	struct leader_wait wait;
	struct leader_cut cut; /* of the window open as the process ended */
	struct rec_heap *seen;
	size_t seen_n, seen_room;
	unsigned seen_every, seen_skip;
};

#define KNOWN_MEMBERS 256 /* more members are not counted */

struct known_all {
	struct known **at;
	size_t n, room;
	const char *dir; /* the job's folder */
	int folder;
	bool lost; /* read the folder, whatever its time says */
	bool settled; /* it was read after the clock tick of its time */
	int64_t changed; /* the folder's time when it was read */
	uint64_t ns; /* our pid namespace */
	const struct page *page;
	struct shared *shared;
	uint32_t member[KNOWN_MEMBERS]; /* pids of the job's members at the last look */
	unsigned members;
	unsigned kept_back; /* spools with `meanwhile` */
	unsigned living; /* processes with a spool; others may live, too: known_living */
	int64_t members_ns; /* when members are looked for next */
};

int known_start(struct known_all *all, const char *dir);
/* Finds new spools. */
void known_find(struct known_all *all);
/* Adds a spool in memory, by descriptor, which the launcher has as number `held`. */
void known_hold(struct known_all *all, int fd, int held);
/* Finds out which processes have gone. `soon`: looks for each, whatever its lock says. */
void known_judge(struct known_all *all, int64_t now, bool soon);
/* Counts the processes that go on, with a spool or without one so far. Where locks do not
 * tell of the latter it reads /proc, at most once a second unless `soon`. */
unsigned known_living(struct known_all *all, int64_t now, bool soon);
/* Opens a spool that had to be closed, or could not be opened. */
bool known_open(struct known_all *all, struct known *k);
/* Ends a spool: its file goes, too. A busy spool is ended by the thread that has it. */
void known_end(struct known_all *all, struct known *k);
/* Leaves a spool that cannot be finished: recover may try, where it is a file. */
void known_leave(struct known_all *all, struct known *k);
/* Drops what struct shared remembers of spools that are over; no other thread may ask
 * meanwhile. */
void known_forget(const struct known_all *all);
/* Removes spools that are over from the table. */
void known_sweep(struct known_all *all);

/* Is it the name of a spool in memory, which recover finds nowhere? */
bool known_in_memory(const char *name);

/* ---- sample.c ---- */

/* Looks at the memory of each process that asked for it and has a window open. Is there
 * one? */
bool sample_all(struct known_all *all);
void sample_begin(struct known *k, const struct spool_header *head);
void sample_free(struct known *k);

#endif
