/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker - the finisher's thread that writes files; one spool at a time.
 *
 * It runs at the lowest priority as long as the command does.  Without privilege no
 * thread can raise its priority again, so another thread takes its place then, and begins
 * the current file anew.
 *
 * Threads  the table of spools is the caller's between worker_lock and worker_unlock;
 *          a spool that is `busy` is the thread's.
 * Memory   a copy of what was seen of a process.
 * Errors   a spool that cannot be finished is counted, and left to recover.
 * Units    none.
 */
#ifndef FINISHER_WORKER_H
#define FINISHER_WORKER_H

#include "finisher/known.h"
#include "finisher/task.h"

#include <pthread.h>

struct worker {
	struct known_all *all;
	const struct task_how *how;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more;
	_Atomic bool low; /* the thread is to give way */
	_Atomic bool waits; /* no file is begun: memory is short */
	bool is_low, quit, idle;
	bool has_less; /* the session has less of the processor */
	int normal; /* priority that the finisher was born with */
	uint32_t tid;
	uint32_t beaten; /* progress when the watch last looked */
};

void worker_start(struct worker *w, struct known_all *all, const struct task_how *how,
		  bool low);
/* Lets the thread run at the finisher's priority from now on. */
void worker_hurry(struct worker *w);
/* Does so while more spools wait than the thread gets done, until none is left. */
void worker_keep_up(struct worker *w, unsigned left);
void worker_lock(struct worker *w);
void worker_unlock(struct worker *w);
/* Windows may have been handed over: the spool of each living process is to be looked
 * at. */
void worker_look(struct worker *w);
/* Counts spools that wait for the thread, or that it writes; wakes it if any wait. */
unsigned worker_left(struct worker *w);
/* Tells the launcher that the finisher lives, if the thread idles or gets on. */
void worker_beat(struct worker *w);

#endif
