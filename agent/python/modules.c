/* SPDX-License-Identifier: Apache-2.0 */
/* A call of a module comes in by its class's __call__, and leaves by the same C frame,
 * with an exception or without. */
#include "agent/python/modules.h"
#include "agent/core/cost.h"
#include "agent/core/emit_short.h"
#include "agent/core/record_module.h"
#include "agent/python/check.h"
#include "agent/python/entered.h"
#include "agent/python/imported.h"
#include "agent/python/importer.h"
#include "agent/python/interpreter.h"
#include "agent/python/kin.h"
#include "agent/python/paths.h"
#include "agent/python/slot.h"
#include "base/log.h"

#include <errno.h>

static struct {
	const void *(*code)(void *function); /* borrowed */
} api;

static _Atomic int state; /* enum state */
enum state { UNWANTED, LOOKING, FOUND, LEFT };
static bool by_frames;
/* nn.Module.__call__, and what that calls. */
static struct slot call, inner;
static struct importer import;

/* ---- a call ---- */

struct open_call {
	struct record *record; /* NULL: none */
	uint64_t cycle;
	const void *outer; /* the module around this one */
	bool timed;
};

/* Of the thread: the innermost module that is called. */
static __thread const void *innermost;

static inline void fill_module(struct rec_module *r, const struct paths_module *m,
			       const void *self)
{
	r->r.name = m ? m->name : 0;
	r->path = m ? m->path : 0;
	r->self = (uintptr_t)self;
	r->spare = 0;
	r->r.end = 0;
}

struct record *modules_put(struct thread *t, const void *self, uint8_t flags)
{
	uintptr_t guard = guard_enter();
	const struct paths_module *m = paths_learn(self, atomic_load(&t->emitting));
	struct rec_module *r;

	guard_leave(guard);
	r = emit_reserve(t, REC_MODULE, sizeof(*r));
	if (!r)
		return NULL;
	fill_module(r, m, self);
	r->r.begin = clock_ticks();
	emit_commit(t, &r->r, REC_MODULE, flags, sizeof(*r));
	return &r->r;
}

static __attribute__((noinline)) struct record *begin_slowly(struct open_call *o,
							     const void *self)
{
	struct thread *t = entered_enter(REC_MODULE);
	struct record *r;

	if (!t)
		return NULL;
	r = modules_put(t, self, 0);
	if (r)
		o->cycle = t->cycle;
	emit_leave(t);
	return r;
}

/* With nothing in the way, as observe.c's begin_at_once; NULL: there is something. */
static inline struct record *begin_at_once(struct open_call *o, const void *self,
					   uint64_t cycle)
{
	const struct paths_module *m = paths_known(self, cycle);
	struct thread *t = m ? emit_ready(sizeof(struct rec_module)) : NULL;
	struct rec_module *r;

	if (!t)
		return NULL;
	if (entered_missed(t)) {
		emit_leave(t);
		return NULL;
	}
	r = (struct rec_module *)t->at;
	fill_module(r, m, self);
	o->cycle = t->cycle;
	r->r.begin = clock_tsc();
	if (!emit_done(t, &r->r, REC_MODULE, 0, sizeof(*r))) {
		thread_late(REC_MODULE);
		emit_leave(t);
	}
	return &r->r;
}

static inline void begin_call(struct open_call *o, const void *self, uint64_t cycle)
{
	entered_event();
	o->record = begin_at_once(o, self, cycle);
	if (__builtin_expect(!o->record, 0)) {
		int saved = errno;

		o->record = begin_slowly(o, self);
		errno = saved;
	}
}

static __attribute__((noinline)) void begin_timed(struct open_call *o, const void *self,
						  uint64_t cycle)
{
	struct cost_span span = cost_begin();

	begin_call(o, self, cycle);
	cost_end(span, COST_MODULE);
	o->timed = o->record;
}

/* The end is the first thing that is done. */
static inline void end_call(const struct open_call *o, const void *self)
{
	uint64_t now = clock_ticks();

	innermost = o->outer;
	if (o->record)
		emit_end(o->record, o->cycle, now);
	if (__builtin_expect(o->cycle != gate_cycle(), 0))
		entered_return(self, now);
	if (__builtin_expect(o->timed, 0))
		cost_more(now, COST_MODULE);
}

/* The gate is read once: it may close at any moment, and no module is known without a
 * window. */
static inline void *watch_call(struct slot *s, uint64_t cycle, const void *self,
			       void *function, void *const *args, size_t count,
			       void *names)
{
	struct open_call o = { .outer = innermost, .cycle = cycle };
	void *result;

	innermost = self;
	if (emit_is_sample())
		begin_timed(&o, self, cycle);
	else
		begin_call(&o, self, cycle);
	result = slot_next(s)(function, args, count, names);
	end_call(&o, self);
	return result;
}

static void *on_call(void *function, void *const *args, size_t count, void *names)
{
	uint64_t cycle = gate_cycle();

	if (!cycle || !SLOT_COUNT(count))
		return slot_next(&call)(function, args, count, names);
	return watch_call(&call, cycle, args[0], function, args, count, names);
}

/* It calls this one as f(*args), which is seen where super().__call__() is not. */
static void *on_inner(void *function, void *const *args, size_t count, void *names)
{
	uint64_t cycle = gate_cycle();

	if (!cycle || !SLOT_COUNT(count) || args[0] == innermost)
		return slot_next(&inner)(function, args, count, names);
	return watch_call(&inner, cycle, args[0], function, args, count, names);
}

/* ---- where they are ---- */

void modules_want(bool frames)
{
	static const struct interpreter_symbol symbols[] = {
		{ "PyFunction_GetCode", &api.code, false },
	};

	by_frames = frames;
	if (interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols)) &&
	    paths_find() && importer_ready())
		atomic_store(&state, LOOKING);
}

static void leave_modules(const char *why)
{
	atomic_store(&state, LEFT);
	log_warn("calls of torch's modules are not recorded: %s", why);
}

/* Since 3.11 a call site that is specialised for __call__, as super().__call__(x) may be,
 * does not look at its slot. */
static bool needs_inner(void)
{
	return interpreter.layout->minor >= 11;
}

/* PyFunction_GetCode raises for a function of the kin type, and its attribute __code__
 * would be an audit event. */
static const void *code_of(void *function)
{
	return kin_is_type(layout_at(function, LAYOUT_TYPE)) ? kin_code(function)
							     : api.code(function);
}

/* Text: why they are left alone. */
static const char *find_calls(const void *type)
{
	void *outer = paths_attribute(type, "__call__");
	void *within = paths_attribute(type, "_call_impl");
	const char *why = outer ? NULL : "torch's Module has no __call__";

	if (by_frames && !why) {
		entered_know(code_of(outer), type);
		return NULL;
	}
	why = why ? why : slot_find(&call, outer, on_call);
	if (!why && within && within != outer && needs_inner())
		why = slot_find(&inner, within, on_inner);
	if (!why)
		entered_find(code_of(outer), type);
	return why;
}

static bool set_slots(void)
{
	return by_frames || (slot_set(&call) && (!inner.function || slot_set(&inner)));
}

static void unset_slots(void)
{
	slot_unset(&inner);
	slot_unset(&call);
}

static void *on_import(void *function, void *const *args, size_t count, void *names)
{
	void *result = slot_next(&import.slot)(function, args, count, names);

	if (result)
		modules_look();
	return result;
}

/* Text: why imports cannot be looked at. */
static const char *watch_imports(void)
{
	const char *why = importer_find(&import, on_import);

	if (!why && !importer_watch(&import))
		why = "another tool follows its imports";
	return why;
}

static void open_slots(void)
{
	if (set_slots())
		return;
	unset_slots();
	leave_modules("another tool stands in front of nn.Module.__call__");
}

/* Unless a window is open. */
static void close_slots(void)
{
	if (gate_cycle())
		return;
	unset_slots();
	if (gate_cycle()) /* one has opened meanwhile */
		set_slots();
}

static void look_now(void)
{
	const void *type = imported_item("torch.nn.modules.module", "Module");
	const char *why = type ? find_calls(type) : watch_imports();

	if (why)
		leave_modules(why);
	else if (type)
		atomic_store(&state, FOUND);
	if (why || type)
		importer_leave(&import);
	if (!why && type && gate_cycle())
		open_slots();
	close_slots();
}

void modules_look(void)
{
	int saved = errno;

	if (atomic_load(&state) == LOOKING && atomic_load(&interpreter_on) &&
	    check_holds_lock())
		look_now();
	errno = saved;
}

void modules_opened(void)
{
	if (atomic_load(&state) == FOUND)
		open_slots();
}

/* While the window was about to open they may have been found by a thread that did not
 * see it yet. And it may have ended meanwhile. */
void modules_opened_now(void)
{
	if (atomic_load(&state) != FOUND)
		return;
	if (gate_cycle())
		open_slots();
	close_slots();
	if (!by_frames)
		entered_opened();
}

void modules_ended(void)
{
	if (atomic_load(&state) != FOUND || gate_cycle())
		return;
	close_slots();
	paths_end();
}

void modules_fork_child(void)
{
	unset_slots();
	entered_forget();
	paths_fork_child();
}
