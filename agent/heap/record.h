/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record - what a call of malloc's family leaves behind: a count, a sample, or a record.
 *
 * Threads  any, at any time, in any state: no lock, no malloc.  Hot path.
 * Memory   the calling thread's chunk and guard_word.
 * Errors   none: what cannot be recorded is dropped and counted.
 * Units    bytes.
 */
#ifndef HEAP_RECORD_H
#define HEAP_RECORD_H

#include "agent/heap/gap.h"
#include "agent/heap/mode.h"

#define HEAP_FRAME ((uintptr_t)__builtin_frame_address(0))

enum heap_part {
	HEAP_PASS, /* part of a recorded call, or ours: not to be seen */
	HEAP_QUIET, /* not to be recorded, but what it calls must not be either */
	HEAP_WANTED
};

/* Is the call that guard_word marks still on the stack? Cold. A signal handler that
 * allocates in the middle of a record loses its own, which is counted as a `kind`. */
bool heap_inside(uintptr_t frame, enum record_kind kind);
bool heap_sampled_now(size_t size); /* the gap is over, or there is none yet */

/* An allocation begins; `frame` is the hook's HEAP_FRAME. Unless it returns HEAP_PASS,
 * the thread is guarded until heap_leave. */
static inline enum heap_part heap_enter(uintptr_t frame, size_t size)
{
	if (__builtin_expect(guard_word != 0, 0) && heap_inside(frame, REC_ALLOC))
		return HEAP_PASS;
	guard_word = frame;
	if (heap_mode() != HEAP_SAMPLE)
		return HEAP_WANTED;
	if (__builtin_expect(size > heap_gap.left, 0))
		return heap_sampled_now(size) ? HEAP_WANTED : HEAP_QUIET;
	heap_gap.left -= size;
	return HEAP_QUIET;
}

static inline void heap_leave(void)
{
	guard_word = 0;
}

/* Records an allocation that was HEAP_WANTED and gave `p` (NULL: it failed, and nothing
 * is recorded). Between heap_enter and heap_leave. */
void heap_made(enum heap_call call, void *p, size_t size);
/* A block is about to be freed by the real function: records that. true: the thread is
 * guarded until heap_leave, which comes after the real function. */
bool heap_gone(uintptr_t frame, enum heap_call call, void *p);

/* malloc and free as a whole, for HEAP_ALL and a thread without a guard. p: not NULL. */
void *heap_malloc(size_t size);
void heap_free(void *p);

/* A realloc on its way: filled by heap_move_begins before the real function, and read by
 * heap_moved after it, which also ends the guard. `p`: the real function's result. */
struct heap_move {
	enum heap_part part;
	void *old;
	uint64_t begin; /* ticks; 0: in no window that records the free of `old` */
	size_t usable; /* bytes of `old`, for HEAP_COUNT */
	bool sampled; /* `old` was a sample */
};
void heap_move_begins(struct heap_move *m, uintptr_t frame, void *old, size_t size);
void heap_moved(const struct heap_move *m, void *p, size_t size);

/* ---- domain.c: blocks of an allocator in front of malloc ---- */

/* Records such a block (NULL: none), as the options want. */
void heap_object_made(uintptr_t frame, enum heap_call call, void *p, size_t size);

/* Around the other allocator's realloc of `old`, which gave `p`. heap_object_moved
 * records that a block has left its pool: the interpreter's lock is held all the time, so
 * that nobody else has its address meanwhile. False: malloc's realloc did it all, and its
 * hook has recorded it; or nothing has changed. */
void heap_object_moves(void);
bool heap_object_moved(uintptr_t frame, enum heap_call call, void *old, const void *p);

#endif
