/* SPDX-License-Identifier: Apache-2.0 */
/* A frame of nn.Module.__call__ has the module as its first argument, and keeps it alive.
 * Names are read without the interpreter's lock; a path waits for an event that has it.
 */
#include "agent/python/entered.h"
#include "agent/core/emit.h"
#include "agent/core/rare.h"
#include "agent/core/record_module.h"
#include "agent/python/check.h"
#include "agent/python/paths.h"
#include "agent/python/walk.h"
#include "base/arena.h"
#include "base/guard.h"
#include "base/sys.h"

#include <errno.h>

#define CLASSES 1000 /* that a module inherits from */
#define TRIES   3 /* windows that open and close between two instructions of ours */

/* Of PyTypeObject and PyTupleObject, the same in all versions (Include/cpython). */
enum { TYPE_MRO = 344, TUPLE_LENGTH = 16, TUPLE_ITEMS = 24 };

struct entry {
	const void *frame; /* compared alone */
	const void *self, *type; /* the same once it has ended */
	struct rec_module *record;
};
struct entered { /* of a thread */
	uint64_t window;
	uint32_t tid; /* whose it is: a state is used again */
	/* Those that have not ended, and all of them: the others wait for their paths. */
	unsigned open, n;
	bool pathless; /* the lock was not held yet */
	struct entry entry[MODULE_LEVELS]; /* the outermost first */
};

_Atomic bool entered_found;
__thread uint64_t entered_settled __attribute__((tls_model("initial-exec")));
const void *_Atomic entered_code;
static const void *module_type; /* compared alone */

void entered_know(const void *code, const void *type)
{
	module_type = type;
	atomic_store(&entered_code, code);
}

void entered_find(const void *code, const void *type)
{
	entered_know(code, type);
	atomic_store(&entered_found, true);
}

/* ---- frames ---- */

static bool can_read(const void *object, unsigned offset)
{
	return sys_can_read((const char *)object + offset);
}

static const void *argument_of(const struct python_layout *l, const void *frame)
{
	return (const void *)((uintptr_t)layout_at(frame, l->local) & ~(uintptr_t)7);
}

/* Nobody has confirmed where a frame has its arguments: the kernel is asked for what is
 * read, and what it leads to has to be a module. */
static bool is_module(const void *self)
{
	const void *type, *mro;
	uintptr_t n;

	if (sys_confined || !can_read(self, LAYOUT_TYPE))
		return false;
	type = layout_at(self, LAYOUT_TYPE);
	mro = can_read(type, TYPE_MRO) ? layout_at(type, TYPE_MRO) : NULL;
	if (!mro || !can_read(mro, TUPLE_LENGTH))
		return false;
	n = (uintptr_t)layout_at(mro, TUPLE_LENGTH);
	for (unsigned i = 0; i < n && i < CLASSES; i++) {
		unsigned at = TUPLE_ITEMS + i * (unsigned)sizeof(void *);

		if (!can_read(mro, at))
			return false;
		if (layout_at(mro, at) == module_type)
			return true;
	}
	return false;
}

/* Where one frame has its arguments all have them. */
const void *entered_self(const void *frame)
{
	static _Atomic bool proven;
	const void *self = argument_of(interpreter.layout, frame);

	if (!atomic_load_explicit(&proven, memory_order_relaxed)) {
		if (!is_module(self))
			return NULL;
		atomic_store(&proven, true);
	}
	return self;
}

static void count_left_out(struct cycle_info *info, unsigned n)
{
	if (n)
		atomic_fetch_add(&info->python[PYTHON_LEFT_OUT], n);
}

/* NULL: there is none, or the interpreter ends, and may not be read any more. */
static const void *innermost_frame(void)
{
	return atomic_load(&interpreter_on) ? walk_innermost(interpreter.layout) : NULL;
}

/* The innermost first. */
static unsigned find_frames(struct cycle_info *info, const void **frame)
{
	const struct python_layout *l = interpreter.layout;
	const void *f = innermost_frame();
	unsigned n = 0, left_out = 0;

	for (unsigned i = 0; f && i < WALK_STEPS; i++, f = layout_at(f, l->caller)) {
		if (!entered_is_call(walk_code(l, f)))
			continue;
		if (n < MODULE_LEVELS && is_module(argument_of(l, f)))
			frame[n++] = f;
		else
			left_out++;
	}
	count_left_out(info, left_out);
	return n;
}

/* How many of those that had not ended are still there: who finds the innermost needs to
 * look no further. */
static unsigned count_open(const struct entered *e)
{
	const struct python_layout *l = interpreter.layout;
	const void *f = innermost_frame();

	for (unsigned i = 0; f && i < WALK_STEPS; i++, f = layout_at(f, l->caller)) {
		if (!entered_is_call(walk_code(l, f)))
			continue;
		for (unsigned n = e->open; n; n--)
			if (e->entry[n - 1].frame == f &&
			    e->entry[n - 1].self == argument_of(l, f))
				return n;
	}
	return 0;
}

/* ---- records ---- */

static void begin_entry(struct thread *t, struct entered *e, const void *frame,
			uint64_t begin, bool locked)
{
	const void *self = argument_of(interpreter.layout, frame);
	const void *type = layout_at(self, LAYOUT_TYPE);
	const struct paths_module *m = locked ? paths_learn(self, e->window) : NULL;
	struct rec_module *r = emit_reserve(t, REC_MODULE, sizeof(*r));

	if (!r)
		return;
	*r = (struct rec_module){
		.r = { .name = paths_class(type), .begin = begin },
		.self = (uintptr_t)self,
		.path = m ? m->path : 0,
	};
	emit_commit(t, &r->r, REC_MODULE, MODULE_ENTERED, sizeof(*r));
	e->pathless |= !m;
	e->entry[e->n++] = (struct entry){ frame, self, type, r };
	e->open = e->n;
}

/* The window may be closed meanwhile: its descriptor stays while the thread is in it. */
static void begin_all(struct thread *t, struct cycle_info *info, uint64_t window,
		      bool may_ask)
{
	const void *frame[MODULE_LEVELS];
	unsigned n = find_frames(info, frame);
	struct entered *e = t->slot[THREAD_MODULES];
	bool locked = n && may_ask && check_holds_lock();

	if (n && !e)
		e = t->slot[THREAD_MODULES] = arena_alloc(sizeof(*e));
	if (!e) {
		count_left_out(info, n);
		return;
	}
	e->window = window;
	e->tid = t->tid;
	e->open = e->n = 0;
	e->pathless = false;
	while (n)
		begin_entry(t, e, frame[--n], info->begin, locked);
}

static void end_gone(struct entered *e)
{
	unsigned open = count_open(e);

	for (; e->open > open; e->open--) {
		struct record *r = &e->entry[e->open - 1].record->r;

		r->flags |= MODULE_GONE;
		r->end = clock_ticks();
	}
}

/* Of an object that may be gone the address is looked for alone. */
static void find_paths(struct entered *e)
{
	if (e->pathless && !check_holds_lock())
		return;
	for (unsigned i = 0; e->pathless && i < e->n; i++) {
		const struct entry *x = &e->entry[i];
		const struct paths_module *m =
			i < e->open ? paths_learn(x->self, e->window)
				    : paths_at(x->self, x->type, e->window);

		if (m)
			x->record->path = m->path;
	}
	e->pathless = false;
	e->n = e->open;
}

/* What this thread has found in the window; NULL: it has not looked, or there is none. */
static struct entered *entered_in(const struct thread *t, uint64_t window)
{
	struct entered *e = t->slot[THREAD_MODULES];

	return e && e->window == window && e->tid == t->tid ? e : NULL;
}

static void look_now(struct thread *t, bool may_ask)
{
	uint64_t window = atomic_load(&t->emitting);
	struct entered *e = entered_in(t, window);
	struct cycle_info *info = emit_info();
	struct rare rare;

	if (!e && info && info->number == window) {
		rare_begin(&rare);
		begin_all(t, info, window, may_ask);
		rare_end(&rare);
		e = entered_in(t, window);
	} else if (e) {
		end_gone(e);
		find_paths(e);
	}
	entered_settled = e && e->n ? 0 : window;
}

/* Within a record of this thread's nothing is asked: the next event is near. */
static struct thread *enter_quietly(void)
{
	struct thread *t = thread_mine ? thread_mine : thread_new();

	return t && !atomic_load(&t->emitting) ? emit_enter(REC_MODULE) : NULL;
}

static void look_quietly(bool may_ask)
{
	int saved = errno;
	struct thread *t = enter_quietly();
	uintptr_t guard;

	if (t) {
		guard = guard_enter();
		look_now(t, may_ask);
		guard_leave(guard);
		emit_leave(t);
	}
	errno = saved;
}

void entered_look(void)
{
	look_quietly(true);
}

bool entered_knows(const struct thread *t, uint64_t window)
{
	return entered_in(t, window);
}

struct thread *entered_enter(enum record_kind kind)
{
	struct thread *t = emit_enter(kind);

	for (unsigned i = 0; i < TRIES && t && entered_missed(t); i++) {
		emit_leave(t);
		entered_look();
		t = emit_enter(kind);
	}
	return t;
}

/* The interpreter may be in the middle of anything: a window opens at any function of
 * C's. */
void entered_opened(void)
{
	look_quietly(false);
}

void entered_return(const void *self, uint64_t now)
{
	struct thread *t = thread_mine;
	struct entered *e = t ? entered_in(t, gate_cycle()) : NULL;

	if (!e || !e->open || e->entry[e->open - 1].self != self ||
	    atomic_load(&t->emitting))
		return;
	emit_end(&e->entry[--e->open].record->r, e->window, now);
}

void entered_ending(void)
{
	int saved = errno;
	struct thread *t = thread_mine && !entered_settled ? enter_quietly() : NULL;
	struct entered *e;

	if (t) {
		e = entered_in(t, atomic_load(&t->emitting));
		if (e)
			end_gone(e);
		emit_leave(t);
	}
	errno = saved;
}

void entered_forget(void)
{
	entered_settled = 0;
}
