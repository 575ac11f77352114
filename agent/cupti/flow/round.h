/* SPDX-License-Identifier: Apache-2.0 */
/*
 * round - one round of the consumer: kinds, flush, buffers, windows.
 *
 * Threads  the consumer, but where said.
 * Memory   static.
 * Errors   false: another thread has taken over the consumer's work.
 * Units    none.
 */
#ifndef CUPTI_FLOW_ROUND_H
#define CUPTI_FLOW_ROUND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Before a driver answers: what the program's own profiler has to know of a round.
 * `flushed`: a flush of ours has returned. `dropped`: CUPTI says that `n` records were
 * dropped; returns how many more it said to that profiler and not to us. Both are
 * called by the consumer, which holds no lock then.
 */
void round_start(void (*flushed)(void), uint64_t (*dropped)(uint64_t n));
void round_consumer(uint32_t tid); /* the consumer's thread id, before its first call */
uint32_t round_thread(void); /* that id, for any thread; 0 = none */
/* CUPTI is called only between leave and enter, for it may keep the consumer. False:
 * another thread has taken over; so for all that return bool, and -1 of round_fetch. */
bool round_enter(void);
void round_leave(void);
int round_fetch(uint32_t flag); /* a flush: what CUPTI says */
bool round_kinds(bool on);
/* Reads what has come back, and what windows there are; a thread that has taken over may,
 * too. */
void round_drain(void);
void round_drops(void);
bool round_flush(void); /* a flush, and all that comes of it */
/* Another thread takes over: the consumer is stuck in CUPTI, or has no processor. False:
 * the consumer is at work all the same. */
bool round_take(void);
void round_give(void); /* after a round_take that was true */
bool round_taken(void);
void round_fork_child(void);

#endif
