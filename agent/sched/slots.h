/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots - the threads that have markers: which calls each is in, and which of them makes
 * the steps.
 *
 * A slot is given by its number + 1; 0: there is none for this thread. A call is a bit,
 * and one within another of the same bit is not counted (an optimizer's step that calls
 * its parent's step). Its end may come on another thread, so tokens name the slot.
 *
 * Threads  any; slots_mine, slots_claim: each for itself; slots_fork_child: a fork's.
 * Memory   static: 256 living threads, others are not counted.
 * Errors   none.
 * Units    none.
 */
#ifndef SCHED_SLOTS_H
#define SCHED_SLOTS_H

#include "agent/sched/auto.h"

uint32_t slots_mine(void); /* the calling thread's */
/* Only the thread that made the first boundary makes steps: of two loops in one process
 * each would else count the other's. When it has ended the next one does, as where a
 * server has a thread for each request. */
bool slots_may_count(uint32_t slot);
bool slots_claim(
	uint32_t slot); /* the calling thread's: from now on it does; false: no */
bool slots_is_elsewhere(void); /* another thread has made the steps so far */

/* The token of an outermost call; 0 for one inside another of its bit (below 64). Calls
 * of SLOTS_EACH and above are all told. */
#define SLOTS_EACH 64u
uint32_t slots_open(uint32_t slot, unsigned bit);
/* That call has ended: its bit, and whose slot it was; 0: it is no token of a living
 * thread. */
uint32_t slots_close(uint32_t token, unsigned *bit);

struct auto_state *slots_state(uint32_t slot); /* what `auto` knows of its thread */
void slots_fork_child(void);

#endif
