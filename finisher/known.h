/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known - the spools of a job: found as they appear, watched as long as they live.
 *
 * Threads  one; what a task needs of a spool is handed to the other thread whole.
 * Memory   malloc: some 300 bytes a process, and what was seen of it.
 * Errors   what cannot be opened now is tried again at the next look.
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
	bool busy; /* the other thread has it */
	bool headed; /* it has a header: something was recorded */
	bool look; /* a window may have been handed over */
	bool own; /* struct task */
	bool meanwhile; /* of a dead process: its window is kept back ... */
	int64_t until_ns; /* ... until then */
	bool lockless; /* its process lives, though nobody holds its lock (overlayfs) */
	bool watched; /* its memory is looked at */
	int held; /* which of the launcher's, in memory; -1 = a file */
	uint32_t pid; /* 0 = of another pid namespace */
	uint32_t own_pid; /* as it calls itself */
	uint64_t start, ino;
	int64_t look_ns; /* when its process is looked for next, whatever its lock says */
	int slot, statm; /* -1 */
	struct leader_wait wait;
	struct leader_cut cut; /* of the window that was open as it went */
	struct rec_heap *seen;
	size_t seen_n, seen_room;
	unsigned seen_every, seen_skip;
};

#define KNOWN_MEMBERS 256 /* more are not counted */

struct known_all {
	struct known **at;
	size_t n, room;
	const char *dir; /* the job's folder */
	int folder;
	bool lost; /* the folder has to be read, whatever its time says */
	bool settled; /* nothing can have come in the tick of its time */
	int64_t changed; /* the folder's time when it was read */
	uint64_t ns; /* our pid namespace */
	const struct page *page;
	struct shared *shared;
	uint32_t member[KNOWN_MEMBERS]; /* pids of who had joined at the last look */
	unsigned members;
	unsigned kept_back; /* `meanwhile` */
	int64_t members_ns; /* when they are looked for next */
};

int known_start(struct known_all *all, const char *dir);
/* New spools. */
void known_find(struct known_all *all);
/* One in memory, by descriptor, that the launcher has as number `held`. */
void known_hold(struct known_all *all, int fd, int held);
/* Who has gone? `soon`: each is looked for, whatever its lock says. */
void known_judge(struct known_all *all, int64_t now, bool soon);
/* Processes that go on: those with a spool, and those that have none so far. Where locks
 * do not tell of those, /proc is read, and not more than once a second unless `soon`. */
unsigned known_living(struct known_all *all, int64_t now, bool soon);
/* Opens what had to be closed. */
bool known_open(struct known_all *all, struct known *k);
/* It is over: the file goes, too. Of one that is busy: by who has it. */
void known_end(struct known_all *all, struct known *k);
/* It cannot be finished: recover may try, where it is a file. */
void known_leave(struct known_all *all, struct known *k);
/* What is remembered of those that are over goes; nobody may ask meanwhile. */
void known_forget(const struct known_all *all);
/* Forgets those that are over. */
void known_sweep(struct known_all *all);

/* The name of one in memory: recover finds it nowhere. */
bool known_in_memory(const char *name);

/* ---- sample.c ---- */

/* Looks at the memory of each process that asked for it and has a window open. Is there
 * one? */
bool sample_all(struct known_all *all);
void sample_begin(struct known *k, const struct spool_header *head);
void sample_free(struct known *k);

#endif
