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

#include "agent/core/chunk.h"
#include "base/guard.h"

#define THREAD_CACHE 512 /* name cache slots of the torch observer */

enum thread_slot {
	THREAD_TORCH,
	THREAD_UNWIND,
	THREAD_PYTHON,
	THREAD_MODULES,
	THREAD_FUNCTIONS,
	THREAD_C_EVENTS,
	THREAD_SLOTS
};

struct thread {
	_Atomic uint64_t
		emitting; /* cycle it is writing for, 0 = none (writer waits on it) */
	uint8_t *at, *limit; /* where the next record goes, and must end */
	struct chunk *chunk; /* current chunk, NULL = none */
	uint64_t cycle; /* the chunk's cycle */
	uint32_t tid, ordinal; /* OS id; torch's logical id, 0 = unknown */
	uint32_t said_ordinal; /* what the last rec_thread said */
	uint32_t chunks; /* taken in this cycle: sizes grow with it */
	uint8_t *
		end; /* of the chunk. `limit` lies before it where the heap has had its
			share: each record that is none of the heap's asks for its room */
	_Atomic uint32_t live; /* the thread's id at its begin; 0 = may be reused */
	uint32_t due; /* events until one is timed (core/cost.h) */
	struct thread *next; /* registry, never shortened */
	void *slot[THREAD_SLOTS]; /* one pointer for each observer: enum thread_slot */
	struct spool_counters *counters; /* malloc=count; kept when the state is reused */
};

extern __thread struct thread *thread_mine __attribute__((tls_model("initial-exec")));

int thread_start(void); /* once per process */
/* Called by a thread that takes a new chunk, a side as well (gpu_chunk.h): set by
 * agent.c, may be NULL. */
extern void (*thread_wants)(void);
/* The calling thread's state; makes one. Cold. NULL when it is dying. */
struct thread *thread_new(void);
/* The same before there is a spool: for counters alone. */
struct thread *thread_state(void);
/* The state that ended threads share, entered for a heap record of one of them. NULL:
 * another thread has it, and the record was counted as dropped. */
struct thread *thread_last(enum record_kind kind, uint64_t cycle);
/* A chunk with room for a record of `size` bytes in cycle `cycle`; false = dropped. Warm.
 */
bool thread_refill(struct thread *t, enum record_kind kind, uint64_t cycle,
		   uint32_t size);
/* Is the calling thread in the middle of a record (and this is a signal handler)? */
bool thread_midway(void);
/* After fork, in the child, before its first record: forget all states. */
void thread_forget(void);
/* True when no thread is between enter and leave for `cycle`. Writer thread. */
bool thread_quiet(uint64_t cycle);
/* Waits until each thread has been outside of a record once, 100 ms at most; without a
 * system call where the program allows none. */
void thread_let_leave(void);
/* Forget what dead threads left, before the writer gives chunks back. Writer thread. */
void thread_leave_nothing(void);
/* Counts a record that could not be kept: in the open cycle's descriptor (the writer
 * adds those to the totals when it has written the cycle), else in the totals. */
void thread_drop(enum record_kind kind, enum drop_kind why);
/* Counts a record that was committed after the writer had read its chunk: in the totals,
 * as its cycle is the writer's already. */
void thread_late(enum record_kind kind);
/* emit_end for a thread without a state, or in the middle of another record. */
void thread_end_record(struct record *r, uint64_t cycle, uint64_t ticks);

#endif
