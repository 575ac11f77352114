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
#define THREAD_HEAP  4

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
	uint64_t heap[THREAD_HEAP]; /* malloc=count; goes on through reuse */
};

extern __thread struct thread *thread_mine __attribute__((tls_model("initial-exec")));

/* What the thread allocates now is part of a call that is recorded already (its frame's
 * address), or our own doing. Who sets it puts back what was there. */
extern __thread uintptr_t thread_guard __attribute__((tls_model("initial-exec")));
enum {
	THREAD_OURS = 2, /* or a frame, and what is known of its call: */
	THREAD_EMITS = 1,
	THREAD_NESTED = 4,
	THREAD_LOOKS = 8
};

int thread_start(void); /* once per process */
/* Called by a thread that takes a new chunk, a side (side.h) as well: set by agent.c, may
 * be NULL. */
extern void (*thread_wants)(void);
/* The calling thread's state; makes one. Cold. NULL when it is dying. */
struct thread *thread_new(void);
/* The same before there is a spool: for counters alone. */
struct thread *thread_state(void);
/* Entered for a heap record of a thread that has no state any more: the one that such
 * threads share. NULL: another one has it, and the record was counted as dropped. */
struct thread *thread_last(enum record_kind kind, uint64_t cycle);
/* Sums of what the threads' heap[] count, dead ones' too. */
void thread_sum(uint64_t sum[THREAD_HEAP]);
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
