/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread is in is compared with the frames that it has: events come for each call,
 * but not for the return of one that began before they were asked for. */
#include "agent/python/track.h"
#include "agent/core/cost.h"
#include "agent/core/emit_short.h"
#include "agent/core/rare.h"
#include "agent/core/record_function.h"
#include "agent/python/entered.h"
#include "agent/python/last.h"
#include "agent/python/levels.h"
#include "agent/python/modules.h"
#include "base/arena.h"

#include <errno.h>

#define SOON_US 1000 /* asked so soon after the begin: at the begin */

/* Not one of the interpreter's own, and complete. */
static bool is_shown(const struct python_layout *l, const void *frame)
{
	const void *code;

	if (walk_is_helper(l, frame))
		return false;
	code = walk_code(l, frame);
	return layout_at(code, LAYOUT_TYPE) == interpreter.code &&
	       !walk_is_early(l, frame, code, walk_offset(l, frame, code));
}

/* C that tells of calls of its own (Cython) has no frame: the innermost is its caller's.
 */
static bool is_of(const void *frame, const void *code)
{
	return !code || walk_code(interpreter.layout, frame) == code;
}

/* ---- records ---- */

static inline struct record *put_function(struct thread *t, struct last *known,
					  const void *frame, const void *code,
					  uint8_t flags)
{
	const struct python_layout *l = interpreter.layout;
	uint32_t id = known ? last_code(known, code) : 0;
	int64_t offset = walk_offset(l, frame, code);
	struct rec_function *r = emit_reserve(t, REC_FUNCTION, sizeof(*r));

	if (!r)
		return NULL;
	r->r.name = 0;
	r->r.end = 0;
	r->code = id;
	r->offset = offset < 0 ? CODES_BEGIN : (uint32_t)offset;
	r->r.begin = clock_ticks();
	emit_commit(t, &r->r, REC_FUNCTION, flags, sizeof(*r));
	return &r->r;
}

/* ---- levels ---- */

static inline struct record *push_level(struct thread *t, struct levels *k,
					const void *frame, uint8_t flags)
{
	const void *code = walk_code(interpreter.layout, frame), *self = NULL;
	struct level *v;
	struct record *r;

	if (__builtin_expect(k->beyond || k->n == TRACK_LEVELS, 0)) {
		k->beyond++;
		last_count(PYTHON_DEEP);
		return NULL;
	}
	if (__builtin_expect(entered_is_call(code), 0))
		self = entered_self(frame);
	r = self ? modules_put(t, self, flags)
		 : put_function(t, last_of(t), frame, code, flags);
	v = &k->level[k->n++];
	*v = (struct level){ frame, code, (uintptr_t)r };
	return r;
}

/* What a thread is in at its first event was there when the window began, unless the
 * interpreter was asked for events later. Where nobody had to ask, in a window that
 * follows another one, they have come from its begin on. */
static uint64_t entered_begin(void)
{
	struct cycle_info *info = emit_info();
	uint64_t asked = 0, soon;

	if (!info)
		return 0;
	if (atomic_compare_exchange_strong(&info->python[PYTHON_FUNCTIONS], &asked,
					   info->begin))
		return info->begin;
	soon = info->begin + (uint64_t)(clock_rate(spool.head) * SOON_US / 1e6);
	return asked > soon ? asked : info->begin;
}

/* What the thread is in, the outermost first; of more than there is room for the inner
 * ones. begin 0: now. */
static void push_frames(struct thread *t, struct levels *k, const void *frame,
			uint8_t flags, uint64_t begin)
{
	const struct python_layout *l = interpreter.layout;
	unsigned n = 0;
	struct record *r;

	for (; frame; frame = layout_at(frame, l->caller)) {
		if (!is_shown(l, frame))
			continue;
		if (n < TRACK_LEVELS)
			k->level[n++].frame = frame;
		else
			last_count(PYTHON_DEEP);
	}
	for (unsigned i = 0; i < n / 2; i++) {
		const void *other = k->level[i].frame;

		k->level[i].frame = k->level[n - 1 - i].frame;
		k->level[n - 1 - i].frame = other;
	}
	for (unsigned i = 0; i < n; i++) {
		r = push_level(t, k, k->level[i].frame, flags);
		if (r && begin)
			r->begin = begin;
	}
}

/* The thread's first event in the window: it is in `frame`, and in what that was called
 * by. NULL: no memory. */
static __attribute__((noinline)) struct levels *track_anew(struct thread *t,
							   const void *frame)
{
	struct levels *k = t->slot[THREAD_FUNCTIONS];
	struct rare cost;

	rare_begin(&cost);
	if (!k)
		k = t->slot[THREAD_FUNCTIONS] = arena_alloc(sizeof(*k));
	if (k) {
		k->cycle = atomic_load(&t->emitting);
		k->tid = t->tid;
		k->n = k->beyond = 0;
		k->last = 0;
		push_frames(t, k, frame, FUNCTION_ENTERED, entered_begin());
	} else {
		last_count(PYTHON_DEEP);
	}
	rare_end(&cost);
	return k;
}

/* A thread that executes other frames than it did before is on another stack of its own
 * (greenlet). */
static void settle_levels(struct thread *t, struct levels *k, const void *caller)
{
	levels_settle(k, caller);
	if (__builtin_expect(!k->n && caller, 0))
		push_frames(t, k, caller, FUNCTION_AGAIN, 0);
}

/* ---- events ---- */

static inline void begin_call(struct thread *t, const void *code)
{
	const struct python_layout *l = interpreter.layout;
	const void *frame = walk_held(l), *caller;
	struct levels *k = t->slot[THREAD_FUNCTIONS];
	bool timed;
	struct cost_span span;
	struct record *r;

	if (!frame || !is_of(frame, code))
		return;
	timed = emit_is_timed(t);
	if (__builtin_expect(timed, 0))
		span = cost_begin();
	caller = layout_at(frame, l->caller);
	if (__builtin_expect(
		    !levels_are_current(
			    k, t,
			    atomic_load_explicit(&t->emitting, memory_order_relaxed)),
		    0))
		k = track_anew(t, caller);
	else
		settle_levels(t, k, caller);
	if (!k)
		return;
	r = push_level(t, k, frame, 0);
	if (__builtin_expect(timed, 0)) {
		cost_end(span, COST_FUNCTION);
		if (r)
			k->level[k->n - 1].record |= LEVEL_TIMED;
	}
}

static __attribute__((noinline)) void begin_slowly(const void *code)
{
	int saved = errno;
	struct thread *t = emit_enter(REC_FUNCTION);

	if (t) {
		begin_call(t, code);
		emit_leave(t);
	}
	errno = saved;
}

/* What the thread's last event left is all there is to know: NULL, or where `frame` is
 * to be put, and its code's id. */
static inline struct levels *find_ready(const struct thread *t, const void *frame,
					const void *code, uint32_t *id)
{
	const struct python_layout *l = interpreter.layout;
	const void *caller = layout_at(frame, l->caller);
	struct levels *k = t->slot[THREAD_FUNCTIONS];
	struct last *s = t->slot[THREAD_PYTHON];
	const struct known_code *known;

	if (!levels_are_current(k, t, t->cycle) || !k->n || k->n == TRACK_LEVELS ||
	    k->beyond || k->level[k->n - 1].frame != caller || !last_is_current(s, t) ||
	    s->freed != freed_now() || entered_is_call(code))
		return NULL;
	known = known_place(&s->known, code);
	*id = known->id;
	return known_is(&s->known, known, code) &&
			       level_is(&k->level[k->n - 1], l, caller)
		       ? k
		       : NULL;
}

/* begin_call with nothing in the way, as observe.c's begin_at_once. False: there is
 * something, and nothing was done. */
static inline bool begin_at_once(const void *known)
{
	const struct python_layout *l = interpreter.layout;
	struct thread *t = emit_ready(sizeof(struct rec_function));
	const void *frame = t ? walk_held(l) : NULL, *code;
	struct levels *k = NULL;
	struct rec_function *r;
	int64_t offset;
	uint32_t id;

	if (!t)
		return false;
	if (frame && t->due > 1) {
		code = walk_code(l, frame);
		k = !known || known == code ? find_ready(t, frame, code, &id) : NULL;
	}
	if (__builtin_expect(!k, 0)) {
		emit_leave(t);
		return false;
	}
	t->due--;
	offset = walk_offset(l, frame, code);
	r = (struct rec_function *)t->at;
	k->level[k->n++] = (struct level){ frame, code, (uintptr_t)r };
	r->r.name = 0;
	r->r.end = 0;
	r->code = id;
	r->offset = offset < 0 ? CODES_BEGIN : (uint32_t)offset;
	r->r.begin = clock_tsc();
	if (!emit_done(t, &r->r, REC_FUNCTION, 0, sizeof(*r))) {
		thread_late(REC_FUNCTION);
		emit_leave(t);
	}
	return true;
}

void track_begin(const void *code)
{
	if (__builtin_expect(!begin_at_once(code), 0))
		begin_slowly(code);
}

/* As emit_end; the window may have been sealed meanwhile. */
static inline void end_call(struct thread *t, const void *code, uint64_t now)
{
	const struct python_layout *l = interpreter.layout;
	const void *frame = walk_held(l);
	struct levels *k = t->slot[THREAD_FUNCTIONS];
	uintptr_t record;

	if (!frame || !is_of(frame, code))
		return;
	if (__builtin_expect(
		    !levels_are_current(
			    k, t,
			    atomic_load_explicit(&t->emitting, memory_order_relaxed)),
		    0))
		k = track_anew(t, frame);
	if (!k || !k->n || k->beyond || k->level[k->n - 1].frame != frame) {
		if (k)
			levels_end_below(k, frame, now);
		return;
	}
	record = k->level[--k->n].record;
	k->last = now;
	if (record & ~LEVEL_TIMED)
		((struct record *)(record & ~LEVEL_TIMED))->end = now;
	if (__builtin_expect(record & LEVEL_TIMED, 0))
		cost_more(now, COST_FUNCTION);
}

static __attribute__((noinline)) void end_slowly(const void *code, uint64_t now)
{
	int saved = errno;
	struct thread *t = emit_enter(REC_FUNCTION);

	if (t) {
		end_call(t, code, now);
		emit_leave(t);
	}
	errno = saved;
}

static inline bool end_at_once(const void *code, uint64_t now)
{
	struct thread *t = emit_ready(0);
	struct levels *k = t ? t->slot[THREAD_FUNCTIONS] : NULL;
	struct level *v;

	if (!t)
		return false;
	v = levels_are_current(k, t, t->cycle) && k->n ? &k->level[k->n - 1] : NULL;
	if (__builtin_expect(!v || k->beyond || v->record & LEVEL_TIMED || !v->record ||
				     v->frame != walk_held(interpreter.layout) ||
				     (code && v->code != code),
			     0)) {
		emit_leave(t);
		return false;
	}
	k->n--;
	k->last = now;
	((struct record *)v->record)->end = now;
	emit_leave(t);
	return true;
}

void track_end(const void *code)
{
	uint64_t now = clock_ticks();

	if (__builtin_expect(!end_at_once(code, now), 0))
		end_slowly(code, now);
}

/* Calls that are open end with the last thing that is known. */
static void leave_calls(struct thread *t)
{
	struct levels *k = t->slot[THREAD_FUNCTIONS];
	const struct record *r;
	uint64_t last;

	if (!levels_are_current(k, t, atomic_load(&t->emitting)) || !k->n)
		return;
	r = level_record(&k->level[k->n - 1]);
	last = r && r->begin > k->last ? r->begin : k->last;
	last_count(PYTHON_AWAY);
	levels_end(k, 0, last);
}

void track_leave(void)
{
	int saved = errno;
	struct thread *t = thread_mine ? emit_enter(REC_FUNCTION) : NULL;

	if (t) {
		leave_calls(t);
		emit_leave(t);
	}
	errno = saved;
}
