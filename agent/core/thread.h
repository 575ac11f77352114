/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread - what we keep for each thread, and its chunk.
 *
 * Threads  a struct thread belongs to one thread; the writer reads `emitting`.
 * Memory   made at a thread's first record from the arena, reused after its end.
 * Errors   NULL when a state cannot be had, or after the thread's end.
 * Units    none.
 */
#ifndef CORE_THREAD_H
#define CORE_THREAD_H

#include "agent/core/spool.h"

#define THREAD_CACHE 512 /* name cache slots of the torch observer */

struct thread {
	_Atomic uint64_t
		emitting; /* cycle it is writing for, 0 = none (writer waits on it) */
	uint8_t *at, *limit; /* where the next record goes; end of the chunk */
	struct chunk *chunk; /* current chunk, NULL = none */
	uint64_t cycle; /* the chunk's cycle */
	uint32_t tid, ordinal; /* OS id; torch's logical id, 0 = unknown */
	uint32_t said_ordinal; /* what the last rec_thread said */
	uint32_t chunks; /* taken in this cycle: sizes grow with it */
	_Atomic uint32_t live; /* 0 = may be reused */
	uint32_t sample; /* counts events between cost samples */
	uint64_t cost_ticks, cost_samples;
	struct thread *next; /* registry, never shortened */
	void *slot[4]; /* one pointer for each observer (torch: 0, stacks: 1) */
};

extern __thread struct thread *thread_mine __attribute__((tls_model("initial-exec")));

int thread_start(void); /* once per process */
/* Called by a thread that takes a new chunk: set by agent.c, may be NULL. */
extern void (*thread_wants)(void);
/* The calling thread's state; makes one. Cold. NULL when it is dying. */
struct thread *thread_new(void);
/* A chunk with room for `size` bytes in cycle `cycle`; false = dropped. Warm. */
bool thread_refill(struct thread *t, uint64_t cycle, uint32_t size);
/* After fork, in the child, before its first record: forget all states. */
void thread_forget(void);
/* True when no thread is between enter and leave for `cycle`. Writer thread. */
bool thread_quiet(uint64_t cycle);
/* Forget what dead threads left, before the writer gives chunks back. Writer thread. */
void thread_leave_nothing(void);
/* Counts a record that could not be kept: in the open cycle's descriptor (the writer
 * adds those to the totals when it has written the cycle), else in the totals. */
void thread_drop(enum record_kind kind, enum drop_kind why);

#endif
