/* SPDX-License-Identifier: Apache-2.0 */
/* Names are made once for each table's row that a thread meets. */
#include "agent/python/c_events.h"
#include "agent/core/cost.h"
#include "agent/core/names.h"
#include "agent/core/record_function.h"
#include "agent/python/c_call.h"
#include "agent/python/interpreter.h"
#include "agent/python/last.h"
#include "agent/python/text.h"
#include "base/arena.h"
#include "base/fmt.h"
#include "base/hash.h"

#include <errno.h>

#define NAMES 512
#define NAME  240 /* bytes of one */
#define TIMED ((uintptr_t)1) /* a bit of a record's address */

struct open_call {
	const void *frame, *row; /* compared alone */
	uintptr_t record; /* 0: none could be had */
};
struct row_name {
	const void *row, *text; /* compared alone: other functions may lie there later */
	uint32_t id;
};
struct events { /* of a thread */
	uint64_t cycle;
	uint32_t tid; /* whose it is: a state is used again */
	uint32_t epoch; /* of the names */
	unsigned n, beyond;
	struct open_call call[C_EVENTS];
	struct row_name name[NAMES];
};

static struct {
	const void *builtin, *method_builtin, *method, *str;
} api;

bool c_events_find(void)
{
	static const struct interpreter_symbol symbols[] = {
		{ "PyCFunction_Type", &api.builtin, false },
		{ "PyCMethod_Type", &api.method_builtin, true }, /* since 3.9 */
		{ "PyMethodDescr_Type", &api.method, false },
		{ "PyUnicode_Type", &api.str, false },
	};

	return interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols));
}

/* ---- names ---- */

/* Include/cpython/methodobject.h, descrobject.h */
enum {
	SELF = 24,
	MODULE = 32,
	ROW = 16,
	METHOD_ROW = 40,
	METHOD_TYPE = 16,
	ROW_SIZE = 32, /* of a PyMethodDef */
};

/* Its PyMethodDef; NULL: it is no such function. */
static inline const void *row_of(const void *called)
{
	const void *type = layout_at(called, LAYOUT_TYPE);

	if (type == api.builtin || (type == api.method_builtin && type))
		return layout_at(called, ROW);
	return type == api.method ? layout_at(called, METHOD_ROW) : NULL;
}

static bool has_row(const void *type, const void *row)
{
	const char *at = layout_at(type, LAYOUT_METHODS);

	while (at && at != row && layout_at(at, 0))
		at += ROW_SIZE;
	return at && at == row;
}

/* What a bound method is of may be derived from the type whose table has it, and the name
 * is the row's for all that are. */
static const void *type_with(const void *self, const void *row)
{
	const void *of = layout_at(self, LAYOUT_TYPE), *at;

	of = (uintptr_t)layout_at(of, LAYOUT_FLAGS) & LAYOUT_IS_TYPE ? self : of;
	for (at = of; at && !has_row(at, row);)
		at = layout_at(at, LAYOUT_BASE);
	return at ? at : of;
}

/* "builtins.len", "list.append", "numpy.ndarray.nonzero" */
static uint32_t make_name(const void *called, const void *row, const char *function)
{
	bool method = layout_at(called, LAYOUT_TYPE) == api.method;
	const void *self = method ? NULL : layout_at(called, SELF);
	const void *module = method ? NULL : layout_at(called, MODULE);
	const void *type = method ? layout_at(called, METHOD_TYPE) : NULL;
	char name[NAME];
	size_t len = 0;

	if (module && layout_at(module, LAYOUT_TYPE) == api.str)
		len = python_text(interpreter.layout, module, name, NAME / 2);
	else if (self)
		type = type_with(self, row);
	if (type)
		len = (size_t)fmt(name, NAME / 2, "%.*s", NAME / 2 - 1,
				  (const char *)layout_at(type, LAYOUT_NAME));
	len += (size_t)fmt(name + len, sizeof(name) - len, len ? ".%s" : "%s", function);
	return names_add(name, len < NAME ? len : NAME - 1, NULL, 0);
}

static inline uint32_t name_of(struct events *s, const void *called, const void *row)
{
	struct row_name *n = &s->name[hash_place((uintptr_t)row, NAMES)];
	const void *text = layout_at(row, 0);

	if (__builtin_expect(n->row != row || n->text != text, 0))
		*n = (struct row_name){ row, text, make_name(called, row, text) };
	return n->id;
}

/* ---- calls ---- */

static void forget_all(struct events *s, const struct thread *t)
{
	s->cycle = atomic_load(&t->emitting);
	s->tid = t->tid;
	s->n = s->beyond = 0;
	if (s->epoch != names_epoch)
		memset(s->name, 0, sizeof(s->name));
	s->epoch = names_epoch;
}

/* Of the window that is open; NULL: no memory. */
static inline struct events *events_of(struct thread *t)
{
	struct events *s = t->slot[THREAD_C_EVENTS];

	if (__builtin_expect(s &&
				     s->cycle ==
					     atomic_load_explicit(&t->emitting,
								  memory_order_relaxed) &&
				     s->tid == t->tid,
			     1))
		return s;
	if (!s)
		s = t->slot[THREAD_C_EVENTS] = arena_alloc(sizeof(*s));
	if (s)
		forget_all(s, t);
	return s;
}

static struct record *record_of(const struct open_call *c)
{
	return (struct record *)(c->record & ~TIMED);
}

/* Those above the nth have returned, and nobody has told of it. */
static void end_above(struct events *s, unsigned n, uint64_t now)
{
	while (s->n > n)
		function_gone(record_of(&s->call[--s->n]), now);
}

static struct record *put_call(struct thread *t, struct events *s, const void *called,
			       const void *row, const void *frame)
{
	struct record *r = c_call_put(t, name_of(s, called, row));

	s->call[s->n++] = (struct open_call){ frame, row, (uintptr_t)r };
	return r;
}

static inline void begin_call(struct thread *t, const void *called, const void *row)
{
	const void *frame = walk_held(interpreter.layout);
	struct events *s = events_of(t);
	bool timed = emit_is_timed(t);
	struct cost_span span;

	if (!s || !frame)
		return;
	if (__builtin_expect(timed, 0))
		span = cost_begin();
	while (s->n && s->call[s->n - 1].frame == frame)
		end_above(s, s->n - 1, clock_ticks());
	if (__builtin_expect(s->beyond || s->n == C_EVENTS, 0)) {
		s->beyond++;
		last_count(PYTHON_DEEP);
		return;
	}
	if (put_call(t, s, called, row, frame) && __builtin_expect(timed, 0)) {
		cost_end(span, COST_C_CALL);
		s->call[s->n - 1].record |= TIMED;
	}
}

static __attribute__((noinline)) void begin_slowly(const void *called, const void *row)
{
	int saved = errno;
	struct thread *t = emit_enter(REC_C_CALL);

	if (t) {
		begin_call(t, called, row);
		emit_leave(t);
	}
	errno = saved;
}

/* NULL, or the thread's, where its last event left nothing that is in the way. */
static inline struct events *find_ready(const struct thread *t)
{
	struct events *s = t->slot[THREAD_C_EVENTS];

	return s && s->cycle == t->cycle && s->tid == t->tid && !s->beyond ? s : NULL;
}

/* begin_call with nothing in the way, as observe.c's begin_at_once. False: there is
 * something, and nothing was done. */
static inline bool begin_at_once(const void *row)
{
	const struct row_name *name;
	struct thread *t = emit_ready(sizeof(struct record));
	const void *frame = t ? walk_held(interpreter.layout) : NULL;
	struct events *s = frame && t->due > 1 ? find_ready(t) : NULL;

	if (!t)
		return false;
	name = s ? &s->name[hash_place((uintptr_t)row, NAMES)] : NULL;
	if (__builtin_expect(!s || s->n == C_EVENTS || name->row != row ||
				     name->text != layout_at(row, 0) ||
				     (s->n && s->call[s->n - 1].frame == frame),
			     0)) {
		emit_leave(t);
		return false;
	}
	t->due--;
	s->call[s->n++] = (struct open_call){ frame, row, (uintptr_t)t->at };
	c_call_put_short(t, name->id);
	return true;
}

void c_events_begin(const void *called)
{
	const void *row = row_of(called);

	if (row && __builtin_expect(!begin_at_once(row), 0))
		begin_slowly(called, row);
}

static inline void end_call(struct thread *t, uint64_t now)
{
	const void *frame = walk_held(interpreter.layout);
	struct events *s = events_of(t);
	struct open_call c;
	unsigned n;

	if (!s || !frame)
		return;
	if (s->beyond) {
		s->beyond--;
		return;
	}
	for (n = s->n; n && s->call[n - 1].frame != frame;)
		n--;
	if (!n)
		return; /* it was called before the window */
	end_above(s, n, now);
	c = s->call[--s->n];
	if (record_of(&c))
		record_of(&c)->end = now;
	if (__builtin_expect(c.record & TIMED, 0))
		cost_more(now, COST_C_CALL);
}

static __attribute__((noinline)) void end_slowly(uint64_t now)
{
	int saved = errno;
	struct thread *t = emit_enter(REC_C_CALL);

	if (t) {
		end_call(t, now);
		emit_leave(t);
	}
	errno = saved;
}

static inline bool end_at_once(uint64_t now)
{
	struct thread *t = emit_ready(0);
	struct events *s = t ? find_ready(t) : NULL;
	struct open_call *c = s && s->n ? &s->call[s->n - 1] : NULL;

	if (!t)
		return false;
	if (__builtin_expect(!c || !c->record || c->record & TIMED ||
				     c->frame != walk_held(interpreter.layout),
			     0)) {
		emit_leave(t);
		return false;
	}
	s->n--;
	((struct record *)c->record)->end = now;
	emit_leave(t);
	return true;
}

void c_events_end(const void *called)
{
	uint64_t now = clock_ticks();

	if (row_of(called) && __builtin_expect(!end_at_once(now), 0))
		end_slowly(now);
}

bool c_events_are_in(const void *row)
{
	const struct thread *t = thread_mine;
	const struct events *s = t ? t->slot[THREAD_C_EVENTS] : NULL;

	return s && s->tid == t->tid && s->n && s->call[s->n - 1].row == row;
}
