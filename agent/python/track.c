/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread is in is compared with the frames that it has: events come for each call,
 * but not for the return of one that began before they were asked for. */
#include "agent/python/track.h"
#include "agent/core/cost.h"
#include "agent/core/emit_short.h"
#include "agent/core/rare.h"
#include "agent/core/record_function.h"
#include "agent/core/record_module.h"
#include "agent/python/entered.h"
#include "agent/python/last.h"
#include "agent/python/levels.h"
#include "agent/python/paths.h"
#include "base/arena.h"
#include "base/guard.h"

#include <errno.h>

/* The calling thread holds the interpreter's lock, and is in one of its frames. */
static inline const void *find_frame(const struct python_layout *l)
{
	const void *state = interpreter.thread_state();
	const void *at = state ? layout_at(state, l->state_frame) : NULL;

	return l->through && at ? layout_at(at, l->cframe_frame) : at;
}

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

/* ---- records ---- */

/* Its end is stored later. */
static struct record *put_module(struct thread *t, const void *self, uint8_t flags)
{
	const struct paths_module *m;
	struct rec_module *r;
	uintptr_t guard = guard_enter();

	m = paths_learn(self, atomic_load(&t->emitting));
	guard_leave(guard);
	r = emit_reserve(t, REC_MODULE, sizeof(*r));
	if (!r)
		return NULL;
	*r = (struct rec_module){
		.r = { .name = m ? m->name : 0 },
		.self = (uintptr_t)self,
		.path = m ? m->path : 0,
	};
	r->r.begin = clock_ticks();
	emit_commit(t, &r->r, REC_MODULE, flags, sizeof(*r));
	return &r->r;
}

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
	r = self ? put_module(t, self, flags)
		 : put_function(t, last_of(t), frame, code, flags);
	v = &k->level[k->n++];
	*v = (struct level){ frame, code, (uintptr_t)r };
	return r;
}

_Static_assert((int)FUNCTION_ENTERED == (int)MODULE_ENTERED &&
		       (int)FUNCTION_GONE == (int)MODULE_GONE,
	       "flags of both");

/* Where the whole process is one window the interpreter began later. */
static uint64_t entered_begin(void)
{
	struct cycle_info *info = emit_info();

	if (!info)
		return 0;
	return info->flags & CYCLE_WHOLE ? atomic_load(&info->python[PYTHON_FUNCTIONS])
					 : info->begin;
}

/* The outermost first. More than there is room for are left out, with all that they call.
 */
static void push_entered(struct thread *t, struct levels *k, const void *frame)
{
	const struct python_layout *l = interpreter.layout;
	uint64_t begin = entered_begin();
	unsigned n = 0;
	struct record *r;

	for (; frame && n < TRACK_LEVELS; frame = layout_at(frame, l->caller))
		if (is_shown(l, frame))
			k->level[n++].frame = frame;
	for (unsigned i = 0; i < n / 2; i++) {
		const void *other = k->level[i].frame;

		k->level[i].frame = k->level[n - 1 - i].frame;
		k->level[n - 1 - i].frame = other;
	}
	for (unsigned i = 0; i < n; i++) {
		r = push_level(t, k, k->level[i].frame, FUNCTION_ENTERED);
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
		push_entered(t, k, frame);
	} else {
		last_count(PYTHON_DEEP);
	}
	rare_end(&cost);
	return k;
}

/* ---- events ---- */

static inline void begin_call(struct thread *t)
{
	const struct python_layout *l = interpreter.layout;
	const void *frame = find_frame(l), *caller;
	struct levels *k = t->slot[THREAD_FUNCTIONS];
	bool timed;
	struct cost_span span;
	struct record *r;

	if (!frame)
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
		levels_settle(k, caller);
	if (!k)
		return;
	r = push_level(t, k, frame, 0);
	if (__builtin_expect(timed, 0)) {
		cost_end(span, COST_FUNCTION);
		if (r)
			k->level[k->n - 1].record |= LEVEL_TIMED;
	}
}

static __attribute__((noinline)) void begin_slowly(void)
{
	int saved = errno;
	struct thread *t = emit_enter(REC_FUNCTION);

	if (t) {
		begin_call(t);
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
static inline bool begin_at_once(void)
{
	const struct python_layout *l = interpreter.layout;
	struct thread *t = emit_ready(sizeof(struct rec_function));
	const void *frame = t ? find_frame(l) : NULL, *code;
	struct levels *k = NULL;
	struct rec_function *r;
	int64_t offset;
	uint32_t id;

	if (!t)
		return false;
	if (frame && t->due > 1) {
		code = walk_code(l, frame);
		k = find_ready(t, frame, code, &id);
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

void track_begin(void)
{
	if (__builtin_expect(!begin_at_once(), 0))
		begin_slowly();
}

/* As emit_end; the window may have been sealed meanwhile. */
static inline void end_call(struct thread *t, uint64_t now)
{
	const struct python_layout *l = interpreter.layout;
	const void *frame = find_frame(l);
	struct levels *k = t->slot[THREAD_FUNCTIONS];
	uintptr_t record;

	if (!frame)
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
	if (record & ~LEVEL_TIMED)
		((struct record *)(record & ~LEVEL_TIMED))->end = now;
	if (__builtin_expect(record & LEVEL_TIMED, 0))
		cost_more(now, COST_FUNCTION);
}

static __attribute__((noinline)) void end_slowly(uint64_t now)
{
	int saved = errno;
	struct thread *t = emit_enter(REC_FUNCTION);

	if (t) {
		end_call(t, now);
		emit_leave(t);
	}
	errno = saved;
}

static inline bool end_at_once(uint64_t now)
{
	struct thread *t = emit_ready(0);
	struct levels *k = t ? t->slot[THREAD_FUNCTIONS] : NULL;
	struct level *v;

	if (!t)
		return false;
	v = levels_are_current(k, t, t->cycle) && k->n ? &k->level[k->n - 1] : NULL;
	if (__builtin_expect(!v || k->beyond || v->record & LEVEL_TIMED || !v->record ||
				     v->frame != find_frame(interpreter.layout),
			     0)) {
		emit_leave(t);
		return false;
	}
	k->n--;
	((struct record *)v->record)->end = now;
	emit_leave(t);
	return true;
}

void track_end(void)
{
	uint64_t now = clock_ticks();

	if (__builtin_expect(!end_at_once(now), 0))
		end_slowly(now);
}
