/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit_short - emit.h's four steps in two, for the records of which there are most.
 *
 * emit_ready is emit_enter and emit_reserve, emit_done is emit_commit and emit_leave,
 * where none of them has anything special to do: no new chunk, no fence, no clock but the
 * processor's counter.
 *
 * Threads  any, each for itself.  Hot path.
 * Memory   as emit.h.
 * Errors   NULL: something special is to be done.  Nothing was changed or counted, and
 *          the caller goes emit.h's long way.
 * Units    sizes in bytes, multiples of 8.
 */
#ifndef CORE_EMIT_SHORT_H
#define CORE_EMIT_SHORT_H

#include "agent/core/emit.h"

/* Is this event one whose cost is timed (cost.h)? Each event has the same chance, one in
 * COST_EVERY, also where the program's events come by turns. True: the caller calls
 * cost_end. */
static inline bool emit_is_timed(struct thread *t)
{
	return __builtin_expect(!--t->due, 0);
}

static inline bool emit_is_sample(void)
{
	return __builtin_expect(thread_mine && emit_is_timed(thread_mine), 0);
}

/* Enters, where there is room for `size` bytes at t->at, not yet visible to anybody. */
static inline struct thread *emit_ready(uint32_t size)
{
	struct thread *t = thread_mine;
	uint64_t cycle = gate_cycle();

	if (__builtin_expect(
		    !t || !cycle || t->cycle != cycle ||
			    atomic_load_explicit(&t->emitting, memory_order_relaxed) ||
			    t->ordinal != t->said_ordinal || gate_fences ||
			    clock_kind != CLOCK_TSC,
		    0))
		return NULL;
	atomic_store_explicit(&t->emitting, cycle, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	/* From here on a signal's handler records nothing; until here it may have taken
	 * the room. */
	if (__builtin_expect(gate_cycle() == cycle && (size_t)(t->limit - t->at) >= size,
			     1))
		return t;
	atomic_store_explicit(&t->emitting, 0, memory_order_release);
	return NULL;
}

/* Publishes the record `r`, which begins at t->at, and leaves. false: the writer has read
 * this chunk already; what came too late has to be counted, and emit_leave called. */
static inline bool emit_done(struct thread *t, struct record *r, enum record_kind kind,
			     uint8_t flags, uint32_t size)
{
	record_mark(r, kind, flags, size);
	t->at = (uint8_t *)r + size;
	atomic_store_explicit(&t->chunk->used,
			      (uint32_t)((uint8_t *)r + size - (uint8_t *)t->chunk),
			      memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&t->chunk->taken, memory_order_relaxed),
			     0))
		return false;
	emit_leave(t);
	return true;
}

#endif
