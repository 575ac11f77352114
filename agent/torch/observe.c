/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a callback of torch's to a record, and from its end to the record's. Where nothing
 * is in the way begin_at_once() does all of a begin in one pass; else begin_slowly() does
 * the same in steps, each of which may fail.
 */
#include "agent/torch/observe.h"
#include "agent/core/chunk.h"
#include "agent/core/cost.h"
#include "agent/core/emit_short.h"
#include "agent/python/functions.h"
#include "agent/torch/abi.h"
#include "agent/torch/called.h"
#include "agent/torch/field.h"
#include "agent/torch/inputs.h"
#include "agent/torch/name.h"
#include "base/arena.h"

#include <errno.h>

#define SLAB      32 /* contexts taken from the arena at once */
#define PLAIN     (sizeof(struct rec_op) + sizeof(struct op_stack)) /* without inputs */
#define ROOM      256 /* bytes for inputs that nearly always suffice */
#define ROOM_MOST (CHUNK_LARGE - 1024)

/* What torch keeps for us between begin and end. It begins as a C++ object with a
 * virtual destructor does: torch calls that through the vtable. */
struct context {
	const void *const *vtable;
	struct record *record; /* NULL: only the token matters */
	uint64_t cycle;
	struct observer *owner;
	struct context *next; /* while free */
	uint32_t token; /* of the scheduler, 0 = none */
	uint32_t sampled; /* the record's kind, if its cost is a sample */
};

struct observer { /* per thread, never freed: contexts point to it */
	struct context *mine; /* free, ours alone */
	struct context *_Atomic returned; /* free, given back by other threads */
	struct called called;
	struct name_cache names;
};

#define ALWAYS_INLINE inline __attribute__((always_inline))

static struct torch_listener to;
static bool with_inputs, with_native;
static _Atomic bool off; /* nothing is recorded: activities */

void observe_start(const struct torch_listener *listener, bool inputs, bool native)
{
	to = *listener;
	with_inputs = inputs;
	with_native = native;
}

void observe_collect(bool on)
{
	atomic_store_explicit(&off, !on, memory_order_relaxed);
}

/* Is this event to be recorded? */
static inline bool is_recording(void)
{
	return gate_cycle() && !atomic_load_explicit(&off, memory_order_relaxed);
}

/* ---- contexts ---- */

/* torch never destroys a context without deleting it; the vtable has a place for it. */
static void context_destroy(void *self)
{
	(void)self;
}

/* A context goes back to the list of the thread that it came from; another thread puts it
 * on a second list, open to all threads, which the owner takes as a whole once the first
 * is empty. */
static void context_delete(void *self)
{
	struct context *c = self;
	struct observer *o = c->owner;

	if (thread_mine && thread_mine->slot[THREAD_TORCH] == o) {
		c->next = o->mine;
		o->mine = c;
		return;
	}
	c->next = atomic_load_explicit(&o->returned, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(
		&o->returned, &c->next, c, memory_order_release, memory_order_relaxed))
		;
}

/* Offset to top, type info, complete and deleting destructor. */
static const void *const context_vtable[] = { NULL, NULL, (void *)context_destroy,
					      (void *)context_delete };

static bool context_refill(struct observer *o)
{
	struct context *c =
		atomic_exchange_explicit(&o->returned, NULL, memory_order_acquire);

	if (!c) {
		c = arena_alloc(SLAB * sizeof(*c));
		for (unsigned i = 0; c && i < SLAB; i++) {
			c[i].vtable = context_vtable + 2;
			c[i].owner = o;
			c[i].next = i + 1 < SLAB ? &c[i + 1] : NULL;
		}
	}
	o->mine = c;
	return c;
}

static struct observer *observer_of(struct thread *t)
{
	if (__builtin_expect(!t->slot[THREAD_TORCH], 0))
		t->slot[THREAD_TORCH] = arena_alloc(sizeof(struct observer));
	return t->slot[THREAD_TORCH];
}

static struct context *context_new(struct observer *o)
{
	struct context *c = o->mine;

	if (__builtin_expect(!c, 0)) {
		if (!context_refill(o))
			return NULL;
		c = o->mine;
	}
	o->mine = c->next;
	return c;
}

/* ---- begin ---- */

static ALWAYS_INLINE uint8_t fill_op(struct rec_op *op, const void *rf)
{
	uint32_t fwd_at = atomic_load_explicit(&abi.fwd_at, memory_order_relaxed);

	op->seq = -1;
	op->fwd_thread = 0;
	op->scope = 0;
	if (atomic_load_explicit(&abi.record, memory_order_relaxed) != ABI_GOOD)
		return OP_NO_SEQ;
	op->seq = (int64_t)field_word(rf, abi.seq_at);
	op->scope = ((const uint8_t *)rf)[ABI_SCOPE_AT];
	if (!fwd_at)
		return OP_NO_SEQ;
	op->fwd_thread = (uint32_t)field_word(rf, fwd_at);
	return 0;
}

static ALWAYS_INLINE uint8_t put_stacks(struct thread *t, struct called *c,
					struct rec_op *op, enum record_kind kind)
{
	if (__builtin_expect(with_native, 0))
		return called_put(t, c, op, kind);
	return __builtin_expect(interpreter_stacks, 0) ? snap_put(t, op, kind) : 0;
}

static ALWAYS_INLINE uint8_t *behind_stack(struct rec_op *op, uint8_t flags)
{
	return (uint8_t *)(op + 1) + (flags & OP_STACK ? sizeof(struct op_stack) : 0);
}

/* Room for a record with its stack and its inputs behind it, of which *end gets the end.
 * Inputs that do not fit are put once more, where a chunk has room for the longest. */
static struct rec_op *with_inputs_of(struct thread *t, struct called *c, const void *rf,
				     enum record_kind kind, uint8_t *flags, uint8_t **end)
{
	uint8_t *from, *stop;
	struct rec_op *op;

	for (uint32_t room = ROOM;; room = ROOM_MOST) {
		if (!(op = emit_reserve(t, kind, PLAIN + room)))
			return NULL;
		*flags = put_stacks(t, c, op, kind);
		from = behind_stack(op, *flags);
		stop = inputs_put(from, t->limit, rf);
		if (stop || room == ROOM_MOST)
			break;
		called_undo(t, c, op);
	}
	*flags |= stop ? OP_INPUTS : OP_CUT;
	*end = stop ? stop : from;
	return op;
}

static void record_event(struct thread *t, struct context *c, enum record_kind kind,
			 const void *rf)
{
	struct observer *o = c->owner;
	uint8_t flags = 0, *end;
	struct rec_op *op;

	/* Of libtorch: the object has another thread's, if that one made it. */
	if (__builtin_expect(!t->ordinal, 0) && abi.thread_id)
		t->ordinal = (uint32_t)abi.thread_id();
	if (with_inputs)
		op = with_inputs_of(t, &o->called, rf, kind, &flags, &end);
	else if ((op = emit_reserve(t, kind, PLAIN)))
		end = behind_stack(op, flags = put_stacks(t, &o->called, op, kind));
	if (!op)
		return;
	op->r.name = name_id(&o->names, rf);
	flags |= fill_op(op, rf);
	op->r.end = 0;
	c->record = &op->r;
	c->cycle = t->cycle;
	op->r.begin = clock_ticks(); /* last: what we did is not the operator's time */
	emit_commit(t, &op->r, kind, flags, (uint32_t)(end - (uint8_t *)op));
}

/* An event with something in the way: a new thread, a full chunk, a closed gate. */
static __attribute__((noinline)) void begin_slowly(void **slot, const void *rf,
						   enum record_kind kind, uint32_t token)
{
	struct thread *t = !is_recording() ? NULL
			   : entered_found ? entered_enter(kind)
					   : emit_enter(kind);
	struct context *c;

	if (!t && (!token || (!thread_mine && !thread_new())))
		return;
	if (!observer_of(thread_mine)) {
		if (t)
			emit_leave(t);
		return;
	}
	c = context_new(thread_mine->slot[THREAD_TORCH]);
	if (c) {
		c->record = NULL;
		c->token = token;
		c->sampled = 0;
		*slot = c;
	}
	if (t && c)
		record_event(t, c, kind, rf);
	else if (t)
		thread_drop(kind, chunk_lacks(kind));
	if (t)
		emit_leave(t);
}

/* An operator with nothing in the way: begin_slowly() and record_event() in one piece.
 * NULL: there is something, and nothing was done. */
static ALWAYS_INLINE struct context *begin_at_once(const void *rf)
{
	struct thread *t = emit_ready(PLAIN + (with_inputs ? ROOM : 0));
	struct rec_op *op;
	struct observer *o;
	struct context *c;
	uint8_t *end, flags;
	uint32_t name;

	if (!t)
		return NULL;
	o = t->slot[THREAD_TORCH];
	op = (struct rec_op *)t->at;
	if (__builtin_expect(!o || !(c = o->mine) || !t->ordinal ||
				     (entered_found && entered_missed(t)) ||
				     !(name = name_again(&o->names, rf)),
			     0)) {
		emit_leave(t);
		return NULL;
	}
	flags = put_stacks(t, &o->called, op, REC_OP);
	end = behind_stack(op, flags);
	if (with_inputs && !(end = inputs_put(end, t->limit, rf))) {
		called_undo(t, &o->called, op);
		emit_leave(t);
		return NULL;
	}
	o->mine = c->next;
	c->record = &op->r;
	c->cycle = t->cycle;
	c->token = c->sampled = 0;
	op->r.name = name;
	op->r.end = 0;
	flags |= fill_op(op, rf) | (with_inputs ? OP_INPUTS : 0);
	op->r.begin = clock_tsc(); /* last, as in record_event() */
	if (!emit_done(t, &op->r, REC_OP, flags, (uint32_t)(end - (uint8_t *)op))) {
		thread_late(REC_OP);
		emit_leave(t);
	}
	return c;
}

static ALWAYS_INLINE void look_up(const void *rf)
{
	if (__builtin_expect(!abi_settled(with_inputs), 0)) {
		int saved = errno;

		learn_event(rf, with_inputs);
		errno = saved;
	}
	if (__builtin_expect(
		    atomic_load_explicit(*to.follow_word, memory_order_relaxed) !=
			    *to.follow_seen,
		    0))
		to.follow();
}

static ALWAYS_INLINE void start_event(void **slot, const void *rf, enum record_kind kind,
				      uint32_t token)
{
	struct context *c;

	if (__builtin_expect(entered_found | wish_now, 0))
		functions_event();
	c = kind == REC_OP && !token ? begin_at_once(rf) : NULL;
	if (__builtin_expect(c != NULL, 1))
		*slot = c;
	else
		begin_slowly(slot, rf, kind, token);
}

static enum cost_kind cost_of(uint32_t kind)
{
	return kind == REC_OP ? COST_OP : COST_NOTE;
}

/* What a marker did before is not the event's cost: it may have ended a window. */
static __attribute__((noinline)) void start_timed(void **slot, const void *rf,
						  enum record_kind kind, uint32_t token)
{
	struct cost_span span = cost_begin();
	struct context *c;

	start_event(slot, rf, kind, token);
	cost_end(span, cost_of(kind));
	c = *slot;
	if (c && c->record)
		c->sampled = kind;
}

void **observe_op_begin(void **slot, const void *rf)
{
	uint32_t token = 0;

	*slot = NULL;
	look_up(rf);
	if (__builtin_expect(to.op_begin != NULL, 0)) {
		struct name_text s = name_of(rf);

		token = to.op_begin(s.text, s.len);
	}
	if (!is_recording() && !token)
		return slot;
	if (emit_is_sample())
		start_timed(slot, rf, REC_OP, token);
	else
		start_event(slot, rf, REC_OP, token);
	return slot;
}

void **observe_note_begin(void **slot, const void *rf)
{
	struct name_text s;
	uint32_t token;

	*slot = NULL;
	look_up(rf);
	s = name_of(rf);
	token = to.begin(s.text, s.len);
	if (!is_recording() && !token)
		return slot;
	if (emit_is_sample())
		start_timed(slot, rf, REC_ANNOTATION, token);
	else
		start_event(slot, rf, REC_ANNOTATION, token);
	return slot;
}

/* ---- end ---- */

static __attribute__((noinline)) void end_noted(struct context *c, uint64_t now)
{
	if (c->record && c->sampled)
		cost_more(now, cost_of(c->sampled));
	if (c->token)
		to.end(c->token);
}

void observe_end(const void *rf, void *context)
{
	uint64_t now = clock_ticks();
	struct context *c = context;

	(void)rf;
	if (!c)
		return;
	if (c->record)
		emit_end(c->record, c->cycle, now);
	if (__builtin_expect(c->token | c->sampled, 0))
		end_noted(c, now);
}
