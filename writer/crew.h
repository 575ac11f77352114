/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crew - which of our threads are there: at most one of each kind.
 *
 * Threads  any; crew_begins, crew_ends and crew_returns: the thread itself.
 * Memory   static.
 * Errors   0 or -errno.
 * Units    OS thread ids; ns.
 */
#ifndef WRITER_CREW_H
#define WRITER_CREW_H

#include <stdbool.h>
#include <stdint.h>

enum crew {
	CREW_KEEPER, /* opens nothing, and may be the last to leave the process */
	CREW_FORMATTER, /* this and CREW_SAMPLER have a descriptor table of their own */
	CREW_SAMPLER,
	CREW_ALL
};

/* 0: the thread is there, or on its way. */
int crew_start(enum crew who, void *(*run)(void *));
uint32_t crew_there(enum crew who); /* its thread id; 1 = being born, 0 = none */
void crew_begins(enum crew who);
void crew_ends(enum crew who); /* the thread returns now ... */
bool crew_returns(enum crew who); /* ... or goes on, if no other one was started */
/* Does the kernel count no task of ours any more? A thread may exist after its
 * crew_ends. */
bool crew_left(void);
/* The keeper returns: the threads that have files must have left before it. */
void crew_last(void);
void crew_forget(void); /* in a fork child */

#endif
