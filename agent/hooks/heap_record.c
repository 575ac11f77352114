/* SPDX-License-Identifier: Apache-2.0 */
/* What a call becomes: a count, a sample, or a record. */
#include "agent/core/emit.h"
#include "agent/hooks/heap_parts.h"
#include "agent/hooks/unwind.h"

#define FRAME_BITS (THREAD_EMITS | THREAD_NESTED | THREAD_LOOKS)
#define STACK_MOST (64u << 20)

struct heap_settings heap_settings;
static _Atomic uint64_t seeds; /* threads that sample so far */

/* The guarded call lies further out on the stack; if it does not, a longjmp has left
 * it. A new that looks whether anything comes back finds its guard gone. A signal handler
 * in the middle of our own record loses what it does, and that is counted; inside of the
 * real function it cannot be told from what that one does. */
bool heap_inside(uintptr_t frame, enum record_kind kind)
{
	uintptr_t guard = thread_guard;

	if (guard == THREAD_OURS)
		return true;
	if (guard & THREAD_LOOKS ||
	    frame - (guard & ~(uintptr_t)FRAME_BITS) < STACK_MOST) {
		thread_guard = 0;
		return false;
	}
	if (guard & THREAD_EMITS && heap_mode() == HEAP_ALL)
		thread_drop(kind, DROP_NESTED);
	thread_guard = guard | THREAD_NESTED;
	return true;
}

bool heap_sampled_now(size_t size)
{
	struct heap_gap *g = &heap_gap;

	if (!g->random) {
		heap_gap_seed(g, heap_settings.seed + atomic_fetch_add(&seeds, 1));
		heap_gap_next(g, heap_settings.sample_bytes);
		if (size <= g->left) {
			g->left -= size;
			return false;
		}
	}
	heap_gap_next(g, heap_settings.sample_bytes);
	return true;
}

/* ---- records ---- */

/* A record of another kind is being written here: an observer of ours has called
 * something that allocates. */
static inline struct thread *enter(enum record_kind kind)
{
	struct thread *t = thread_mine;

	if (t &&
	    __builtin_expect(
		    atomic_load_explicit(&t->emitting, memory_order_relaxed) != 0, 0))
		return NULL;
	return emit_enter(kind);
}

static inline void emit_alloc(const void *p, size_t size, unsigned flags)
{
	struct thread *t = enter(REC_ALLOC);
	struct rec_alloc *r;
	uint64_t now;
	uint32_t stack = 0;

	if (!t)
		return;
	now = clock_ticks();
	if (heap_settings.stacks)
		stack = unwind_stack(emit_info(), thread_guard & ~(uintptr_t)FRAME_BITS);
	r = emit_reserve(t, REC_ALLOC, sizeof(*r));
	if (r) {
		r->r.name = stack;
		r->r.begin = now;
		r->r.end = (uintptr_t)p;
		r->bytes = size;
		emit_commit(t, &r->r, REC_ALLOC, (uint8_t)flags, sizeof(*r));
	}
	emit_leave(t);
}

static inline void emit_free(const void *p, unsigned flags, uint64_t when)
{
	struct thread *t = enter(REC_FREE);
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

static void emit_sample(const void *p, size_t size, unsigned flags)
{
	if (!gate_cycle())
		return;
	if (heap_samples_add(p))
		emit_alloc(p, size, flags | HEAP_SAMPLED);
	else
		thread_drop(REC_ALLOC, DROP_CAP);
}

void heap_made(enum heap_call call, void *p, size_t size)
{
	if (!p)
		return;
	thread_guard |= THREAD_EMITS;
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

bool heap_gone(uintptr_t frame, enum heap_call call, void *p)
{
	if (__builtin_expect(thread_guard != 0, 0) && heap_inside(frame, REC_FREE))
		return false;
	thread_guard = frame | THREAD_EMITS;
	switch (heap_mode()) {
	case HEAP_ALL:
		emit_free(p, call, 0);
		break;
	case HEAP_SAMPLE:
		if (heap_maybe_sampled(p) && heap_samples_take(p))
			emit_free(p, call | HEAP_SAMPLED, 0);
		break;
	case HEAP_COUNT:
		heap_count(COUNT_FREES, heap_usable(p));
		break;
	case HEAP_IDLE:
	case HEAP_COLD:
	case HEAP_ASLEEP:
		break;
	}
	thread_guard = frame;
	return true;
}

/* Each cold one is called last, so that nothing has to be kept for it. */
static __attribute__((noinline)) void *malloc_any(void *p, size_t size)
{
	if (!p)
		return p;
	thread_guard = HEAP_FRAME | THREAD_EMITS;
	emit_alloc(p, size, HEAP_MALLOC);
	thread_guard = 0;
	return p;
}

static __attribute__((noinline)) void *malloc_late(void *p)
{
	emit_late(thread_mine, REC_ALLOC);
	emit_leave(thread_mine);
	thread_guard = 0;
	return p;
}

static __attribute__((noinline)) void free_any(void *p)
{
	thread_guard = HEAP_FRAME | THREAD_EMITS;
	emit_free(p, HEAP_FREE, 0);
	thread_guard = 0;
	heap_real.free(p);
}

static __attribute__((noinline)) void free_late(void *p)
{
	emit_late(thread_mine, REC_FREE);
	emit_leave(thread_mine);
	thread_guard = 0;
	heap_real.free(p);
}

void *heap_malloc(size_t size)
{
	void *p = heap_real.malloc(size);
	struct thread *t;
	struct rec_alloc *r;

	if (__builtin_expect(!p || heap_settings.stacks || !(t = emit_ready(sizeof(*r))),
			     0))
		return malloc_any(p, size);
	thread_guard = HEAP_FRAME | THREAD_EMITS;
	r = (struct rec_alloc *)t->at;
	r->r.name = 0;
	r->r.begin = clock_tsc();
	r->r.end = (uintptr_t)p;
	r->bytes = size;
	if (__builtin_expect(!emit_done(t, &r->r, REC_ALLOC, HEAP_MALLOC, sizeof(*r)), 0))
		return malloc_late(p);
	thread_guard = 0;
	return p;
}

void heap_free(void *p)
{
	struct thread *t = emit_ready(sizeof(struct record));
	struct record *r;

	if (__builtin_expect(!t, 0)) {
		free_any(p);
		return;
	}
	thread_guard = HEAP_FRAME | THREAD_EMITS;
	r = (struct record *)t->at;
	r->name = 0;
	r->begin = clock_tsc();
	r->end = (uintptr_t)p;
	if (__builtin_expect(!emit_done(t, r, REC_FREE, HEAP_FREE, sizeof(*r)), 0)) {
		free_late(p);
		return;
	}
	thread_guard = 0;
	heap_real.free(p);
}

/* ---- realloc ---- */

void heap_move_begins(struct heap_move *m, uintptr_t frame, void *old, size_t size)
{
	enum heap_mode mode = heap_mode();

	m->part = heap_enter(frame, size);
	m->old = old;
	m->begin = mode == HEAP_ALL ? clock_ticks() : 0; /* 0: before the window */
	m->sampled = false;
	m->usable = 0;
	if (m->part == HEAP_PASS && old && mode == HEAP_ALL &&
	    thread_guard != THREAD_OURS && thread_guard & THREAD_EMITS)
		thread_drop(REC_FREE, DROP_NESTED);
	if (m->part == HEAP_PASS || !old)
		return;
	/* Before somebody else can have the address. */
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

	if (m->part == HEAP_PASS)
		return;
	thread_guard |= THREAD_EMITS;
	if (m->sampled && !gone)
		heap_samples_add(m->old);
	else if (m->sampled)
		emit_free(m->old, flags | HEAP_SAMPLED, m->begin);
	else if (gone && mode == HEAP_ALL && m->begin)
		emit_free(m->old, flags, m->begin);
	else if (gone && mode == HEAP_COUNT)
		heap_count(COUNT_FREES, m->usable);
	if (m->part == HEAP_WANTED)
		heap_made(HEAP_REALLOC, p, size);
	heap_leave();
}
