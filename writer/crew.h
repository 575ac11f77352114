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
	CREW_FORMATTER, /* this and the next have a descriptor table of their own */
	CREW_SAMPLER,
	CREW_ALL
};

/* 0: it is there, or on its way. */
int crew_start(enum crew who, void *(*run)(void *));
uint32_t crew_there(enum crew who); /* its id; 1 = being born, 0 = nobody */
void crew_begins(enum crew who);
void crew_ends(enum crew who); /* it returns now ... */
bool crew_returns(enum crew who); /* ... or goes on, if no other one was started */
/* Is no task of ours there, as the kernel counts them? One that has ended may be. */
bool crew_left(void);
/* The keeper returns: those with files must have left before. */
void crew_last(void);
void crew_forget(void); /* in a fork child */

#endif
