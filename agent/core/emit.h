/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit - what observers call to write a record.  Hot path.
 *
 *	struct thread *t = emit_enter(REC_OP);
 *	if (t) {
 *		struct rec_op *op = emit_reserve(t, REC_OP, sizeof(*op));
 *		if (op) { ...fill...; emit_commit(t, &op->r, REC_OP, 0, sizeof(*op)); }
 *		emit_leave(t);
 *	}
 *
 * Threads  any, each for itself.  No lock, no syscall but a chunk's first use.
 * Memory   the thread's chunk; emit_end writes there while the record's cycle is open.
 * Errors   NULL: the gate is closed, or the record was dropped and counted.
 * Units    sizes in bytes, multiples of 8; times in ticks.
 */
#ifndef CORE_EMIT_H
#define CORE_EMIT_H

#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/core/thread.h"

/* Stands between the store of `emitting` and the second look at the gate. The writer's
 * membarrier pairs with it, so a compiler barrier is enough where that works. */
static inline void emit_barrier(void)
{
	if (__builtin_expect(gate_fences, 0))
		atomic_thread_fence(memory_order_seq_cst);
	else
		atomic_signal_fence(memory_order_seq_cst);
}

/* The open window's descriptor; stays what it is between enter and leave. */
static inline struct cycle_info *emit_info(void)
{
	uint64_t at = atomic_load_explicit(&gate->cycle_at, memory_order_relaxed);

	return at ? (struct cycle_info *)(chunk_at(at) + 1) : NULL;
}

/* The gate is looked at twice: the writer does not wait for a thread that stored
 * `emitting` after its window was sealed. */
static inline struct thread *emit_enter(enum record_kind kind)
{
	uint64_t cycle = gate_cycle();
	struct thread *t;

	if (__builtin_expect(!cycle, 1))
		return NULL;
	t = thread_mine;
	if (__builtin_expect(!t, 0) && !(t = thread_new()))
		return thread_last(kind, cycle);
	if (__builtin_expect(atomic_load_explicit(&t->emitting, memory_order_relaxed),
			     0)) {
		thread_drop(kind, DROP_NESTED);
		return NULL;
	}
	atomic_store_explicit(&t->emitting, cycle, memory_order_relaxed);
	emit_barrier();
	if (__builtin_expect(gate_cycle() != cycle, 0)) {
		atomic_store_explicit(&t->emitting, 0, memory_order_release);
		return NULL;
	}
	return t;
}

static inline void emit_leave(struct thread *t)
{
	atomic_store_explicit(&t->emitting, 0, memory_order_release);
}

/* Room for `size` bytes, not yet visible to anybody. */
static inline void *emit_reserve(struct thread *t, enum record_kind kind, uint32_t size)
{
	uint64_t cycle = atomic_load_explicit(&t->emitting, memory_order_relaxed);

	if (__builtin_expect(t->cycle != cycle || (size_t)(t->limit - t->at) < size ||
				     t->ordinal != t->said_ordinal,
			     0) &&
	    !thread_refill(t, kind, cycle, size)) {
		thread_drop(kind, chunk_lacks(kind));
		return NULL;
	}
	return t->at;
}

/* Publishes the record: all of it is visible before the new length is. */
static inline void emit_commit(struct thread *t, struct record *r, enum record_kind kind,
			       uint8_t flags, uint32_t size)
{
	record_mark(r, kind, flags, size);
	t->at += size;
	atomic_store_explicit(&t->chunk->used, (uint32_t)(t->at - (uint8_t *)t->chunk),
			      memory_order_release);
	emit_barrier();
	if (__builtin_expect(atomic_load_explicit(&t->chunk->taken, memory_order_relaxed),
			     0))
		thread_late(kind);
}

/* Stores the end of a record of `cycle`, unless that cycle is over. As in emit_enter,
 * but an end is never lost to a closed gate: the writer cuts open records itself. */
static inline void emit_end(struct record *r, uint64_t cycle, uint64_t ticks)
{
	struct thread *t = thread_mine;

	if (__builtin_expect(
		    !t || atomic_load_explicit(&t->emitting, memory_order_relaxed), 0)) {
		thread_end_record(r, cycle, ticks);
		return;
	}
	atomic_store_explicit(&t->emitting, cycle, memory_order_relaxed);
	emit_barrier();
	if (__builtin_expect(gate_cycle() == cycle, 1))
		r->end = ticks;
	emit_leave(t);
}

#endif
