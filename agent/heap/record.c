/* SPDX-License-Identifier: Apache-2.0 */
/* What a call becomes: a count, a sample, or a record. */
#include "agent/heap/record.h"
#include "agent/core/chunk.h"
#include "agent/core/cost.h"
#include "agent/core/emit_short.h"
#include "agent/heap/count.h"
#include "agent/heap/watch.h"
#include "agent/unwind/unwind.h"

#define FRAME_BITS (GUARD_EMITS | GUARD_NESTED | GUARD_LOOKS)
#define STACK_MOST (64u << 20)

/* What realloc gave last: which object does not lie in a pool. */
static __thread const void *moved_to __attribute__((tls_model("initial-exec")));

/* The guarded call lies further out on the stack; if it does not, a longjmp has left
 * it. An operator new that looks whether it comes back as malloc (GUARD_LOOKS) finds its
 * guard gone. What a signal handler allocates in the middle of our own record is lost,
 * and counted; inside of the real function it cannot be told from what that one does. */
bool heap_inside(uintptr_t frame, enum record_kind kind)
{
	uintptr_t guard = guard_word;

	if (guard == GUARD_OURS)
		return true;
	if (guard & GUARD_LOOKS ||
	    frame - (guard & ~(uintptr_t)FRAME_BITS) < STACK_MOST) {
		guard_word = 0;
		return false;
	}
	if (guard & GUARD_EMITS && heap_mode() == HEAP_ALL)
		thread_drop(kind, DROP_NESTED);
	guard_word = guard | GUARD_NESTED;
	return true;
}

/* ---- records ---- */

/* NULL while this thread writes a record of another kind: an observer of ours has called
 * something that allocates. */
static inline struct thread *enter_unless_emitting(enum record_kind kind)
{
	struct thread *t = thread_mine;

	if (t &&
	    __builtin_expect(
		    atomic_load_explicit(&t->emitting, memory_order_relaxed) != 0, 0))
		return NULL;
	return emit_enter(kind);
}

/* An object of Python's is made by the interpreter, whose machine code tells nothing that
 * Python's stack does not. */
static uint32_t take_stack(struct thread *t, unsigned flags)
{
	bool object = flags & HEAP_OBJECT && heap_settings.also;
	uint32_t stack = object ? heap_settings.also(t, 0) : 0;

	if (!stack && heap_settings.stacks)
		stack = unwind_stack(emit_info(), guard_word & ~(uintptr_t)FRAME_BITS);
	return heap_settings.also && !object ? heap_settings.also(t, stack) : stack;
}

static __attribute__((noinline)) void put_alloc(const void *p, size_t size,
						unsigned flags)
{
	struct thread *t = enter_unless_emitting(REC_ALLOC);
	struct rec_alloc *r;
	uint64_t now;

	if (!t)
		return;
	/* The time is taken before the walk, which is no work of the program's; the room
	 * too, so that what is dropped costs no walk. */
	now = clock_ticks();
	r = emit_reserve(t, REC_ALLOC, sizeof(*r));
	if (r) {
		r->r.name = take_stack(t, flags);
		r->r.begin = now;
		r->r.end = (uintptr_t)p;
		r->bytes = size;
		emit_commit(t, &r->r, REC_ALLOC, (uint8_t)flags, sizeof(*r));
	}
	emit_leave(t);
}

static __attribute__((noinline)) void put_free(const void *p, unsigned flags,
					       uint64_t when)
{
	struct thread *t = enter_unless_emitting(REC_FREE);
	struct record *r;

	if (!t)
		return;
	r = emit_reserve(t, REC_FREE, sizeof(*r));
	if (r) {
		r->name = 0;
		r->begin = when ? when : clock_ticks();
		r->end = (uintptr_t)p;
		emit_commit(t, r, REC_FREE, (uint8_t)flags, sizeof(*r));
	}
	emit_leave(t);
}

/* ---- what it costs ---- */

static __attribute__((noinline)) void put_alloc_timed(const void *p, size_t size,
						      unsigned flags)
{
	struct cost_span span = cost_begin();

	put_alloc(p, size, flags);
	cost_end(span, COST_ALLOC);
}

static __attribute__((noinline)) void put_free_timed(const void *p, unsigned flags,
						     uint64_t when)
{
	struct cost_span span = cost_begin();

	put_free(p, flags, when);
	cost_end(span, COST_FREE);
}

static inline void emit_alloc(const void *p, size_t size, unsigned flags)
{
	if (emit_is_sample())
		put_alloc_timed(p, size, flags);
	else
		put_alloc(p, size, flags);
}

static inline void emit_free(const void *p, unsigned flags, uint64_t when)
{
	if (emit_is_sample())
		put_free_timed(p, flags, when);
	else
		put_free(p, flags, when);
}

/* Samples are few: each is timed. */
static void emit_sample(const void *p, size_t size, unsigned flags)
{
	struct cost_span span = cost_begin();

	if (!gate_cycle())
		return;
	if (heap_samples_add(p))
		put_alloc(p, size, flags | HEAP_SAMPLED);
	else
		thread_drop(REC_ALLOC, chunk_lacks(REC_ALLOC));
	cost_end(span, COST_SAMPLE);
}

static void emit_sample_gone(const void *p, unsigned flags, uint64_t when)
{
	struct cost_span span = cost_begin();

	put_free(p, flags | HEAP_SAMPLED, when);
	cost_end(span, COST_SAMPLE);
}

/* The short ways leave a thread alone whose next event is to be timed. */
static inline bool is_untimed(void)
{
	struct thread *t = thread_mine;

	return t && t->due != 1;
}

void heap_made(enum heap_call call, void *p, size_t size)
{
	if (!p)
		return;
	guard_word |= GUARD_EMITS;
	switch (heap_mode()) {
	case HEAP_ALL:
		emit_alloc(p, size, call);
		break;
	case HEAP_SAMPLE:
		emit_sample(p, size, call);
		break;
	case HEAP_COUNT:
		heap_count(COUNT_ALLOCS, heap_usable(p));
		break;
	case HEAP_IDLE:
	case HEAP_COLD:
	case HEAP_ASLEEP:
		break;
	}
}

/* The free is recorded before the real one: after that another thread may have the
 * address, and its allocation would come first. */
bool heap_gone(uintptr_t frame, enum heap_call call, void *p)
{
	if (__builtin_expect(guard_word != 0, 0) && heap_inside(frame, REC_FREE))
		return false;
	guard_word = frame | GUARD_EMITS;
	switch (heap_mode()) {
	case HEAP_ALL:
		emit_free(p, call, 0);
		break;
	case HEAP_SAMPLE:
		if (heap_maybe_sampled(p) && heap_samples_take(p))
			emit_sample_gone(p, call, 0);
		break;
	case HEAP_COUNT:
		heap_count(COUNT_FREES, heap_usable(p));
		break;
	case HEAP_IDLE:
	case HEAP_COLD:
	case HEAP_ASLEEP:
		break;
	}
	guard_word = frame;
	return true;
}

/* Each cold function is called last, so that the hot one need not keep a register for
 * what comes after it. */
static __attribute__((noinline)) void *malloc_any(void *p, size_t size)
{
	if (!p)
		return p;
	guard_word = HEAP_FRAME | GUARD_EMITS;
	emit_alloc(p, size, HEAP_MALLOC);
	guard_word = 0;
	return p;
}

static __attribute__((noinline)) void *malloc_late(void *p)
{
	thread_late(REC_ALLOC);
	emit_leave(thread_mine);
	guard_word = 0;
	return p;
}

static __attribute__((noinline)) void free_any(void *p)
{
	guard_word = HEAP_FRAME | GUARD_EMITS;
	emit_free(p, HEAP_FREE, 0);
	guard_word = 0;
	heap_real.free(p);
}

static __attribute__((noinline)) void free_unrecorded(void *p)
{
	thread_late(REC_FREE);
	emit_leave(thread_mine);
	guard_word = 0;
	heap_real.free(p);
}

/* The guard stands while the record is written: what a signal handler allocates in the
 * middle of it is counted as dropped (heap_inside). */
void *heap_malloc(size_t size)
{
	void *p = heap_real.malloc(size);
	struct thread *t;
	struct rec_alloc *r;

	if (__builtin_expect(!p || heap_settings.walks || !is_untimed() ||
				     !(t = emit_ready(sizeof(*r))),
			     0))
		return malloc_any(p, size);
	t->due--;
	guard_word = HEAP_FRAME | GUARD_EMITS;
	r = (struct rec_alloc *)t->at;
	r->r.name = 0;
	r->r.begin = clock_tsc();
	r->r.end = (uintptr_t)p;
	r->bytes = size;
	if (__builtin_expect(!emit_done(t, &r->r, REC_ALLOC, HEAP_MALLOC, sizeof(*r)), 0))
		return malloc_late(p);
	guard_word = 0;
	return p;
}

void heap_free(void *p)
{
	struct thread *t = is_untimed() ? emit_ready(sizeof(struct record)) : NULL;
	struct record *r;

	if (__builtin_expect(!t, 0)) {
		free_any(p);
		return;
	}
	t->due--;
	guard_word = HEAP_FRAME | GUARD_EMITS;
	r = (struct record *)t->at;
	r->name = 0;
	r->begin = clock_tsc();
	r->end = (uintptr_t)p;
	if (__builtin_expect(!emit_done(t, r, REC_FREE, HEAP_FREE, sizeof(*r)), 0)) {
		free_unrecorded(p);
		return;
	}
	guard_word = 0;
	heap_real.free(p);
}

/* ---- realloc ---- */

void heap_move_begins(struct heap_move *m, uintptr_t frame, void *old, size_t size)
{
	enum heap_mode mode = heap_mode();

	m->part = heap_enter(frame, size);
	m->old = old;
	m->begin = mode == HEAP_ALL ? clock_ticks() : 0; /* 0: no window yet */
	m->sampled = false;
	m->usable = 0;
	if (m->part == HEAP_PASS && old && mode == HEAP_ALL && guard_word != GUARD_OURS &&
	    guard_word & GUARD_EMITS)
		thread_drop(REC_FREE, DROP_NESTED);
	if (m->part == HEAP_PASS || !old)
		return;
	/* The real function may free the block, and then its address may be another's. */
	if (mode == HEAP_SAMPLE && heap_maybe_sampled(old)) {
		m->begin = clock_ticks();
		m->sampled = heap_samples_take(old);
	}
	if (mode == HEAP_COUNT)
		m->usable = heap_usable(old);
}

/* realloc(p, 0) may free p and give NULL; else NULL means that nothing has changed. */
void heap_moved(const struct heap_move *m, void *p, size_t size)
{
	bool gone = m->old && (p || !size);
	enum heap_mode mode = heap_mode();
	unsigned flags = m->old && p ? HEAP_REALLOC : HEAP_FREE;

	moved_to = p;
	heap_watch_note(p, size, true);
	if (m->part == HEAP_PASS)
		return;
	guard_word |= GUARD_EMITS;
	if (m->sampled && !gone)
		heap_samples_add(m->old);
	else if (m->sampled)
		emit_sample_gone(m->old, flags, m->begin);
	else if (gone && mode == HEAP_ALL && m->begin)
		emit_free(m->old, flags, m->begin);
	else if (gone && mode == HEAP_COUNT)
		heap_count(COUNT_FREES, m->usable);
	if (m->part == HEAP_WANTED)
		heap_made(HEAP_REALLOC, p, size);
	heap_leave();
}

/* ---- small objects ---- */

void heap_object_made(uintptr_t frame, enum heap_call call, void *p, size_t size)
{
	enum heap_part part = p ? heap_enter(frame, size) : HEAP_PASS;

	if (part == HEAP_WANTED)
		heap_made(call, p, size);
	if (part != HEAP_PASS)
		heap_leave();
}

void heap_object_moves(void)
{
	moved_to = NULL;
}

bool heap_object_moved(uintptr_t frame, enum heap_call call, void *old, const void *p)
{
	if (!p || p == moved_to)
		return false;
	if (old && heap_gone(frame, call, old))
		heap_leave();
	return true;
}
