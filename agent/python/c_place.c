/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers are exchanged by plain stores: a call meets the one or the other. */
#include "agent/python/c_place.h"
#include "agent/core/cost.h"
#include "agent/core/names.h"
#include "agent/python/c_call.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/seldom.h"
#include "base/spin.h"

#include <errno.h>

#define SLOTS (2 * C_PLACES) /* of the table */
#define ENTRY 16 /* bytes of one, in c_entry.S */
#define PAGE  4096

struct place {
	c_place_function *_Atomic *at; /* the pointer */
	c_place_function *real;
	const char *name;
	uint32_t len;
	_Atomic uint32_t id; /* of the name in this process's spool; 0 = not there yet */
};

static struct place places[C_PLACES];
static _Atomic unsigned count;
static SELDOM uint16_t table[SLOTS]; /* by pointer: the place's number + 1 */
static atomic_flag busy = ATOMIC_FLAG_INIT;
static bool left;

extern const char c_entry[]; /* c_entry.S */
extern void *(*c_entry_to)(void *a, void *b, void *c, void *d, void *e, unsigned i);

static c_place_function *entry_of(const struct place *p)
{
	return (c_place_function *)(uintptr_t)(c_entry + (size_t)(p - places) * ENTRY);
}

/* ---- a call ---- */

struct open_call {
	struct record *record; /* NULL: none */
	uint64_t cycle;
	bool timed;
};

static __attribute__((noinline)) uint32_t add_name(struct place *p)
{
	uint32_t id = names_add(p->name, p->len, NULL, 0);

	atomic_store_explicit(&p->id, id, memory_order_relaxed);
	return id;
}

static inline uint32_t name_of(struct place *p)
{
	return atomic_load_explicit(&p->id, memory_order_relaxed) ?: add_name(p);
}

static __attribute__((noinline)) struct record *begin_slowly(struct open_call *o,
							     struct place *p)
{
	int saved = errno;
	struct thread *t = emit_enter(REC_C_CALL);
	struct record *r = t ? c_call_put(t, name_of(p)) : NULL;

	if (r)
		o->cycle = t->cycle;
	if (t)
		emit_leave(t);
	errno = saved;
	return r;
}

/* With nothing in the way, as observe.c's begin_at_once; NULL: there is something. */
static inline struct record *begin_at_once(struct open_call *o, const struct place *p)
{
	uint32_t id = atomic_load_explicit(&p->id, memory_order_relaxed);
	struct thread *t = id ? emit_ready(sizeof(struct record)) : NULL;

	if (!t)
		return NULL;
	o->cycle = t->cycle;
	return c_call_put_short(t, id);
}

static inline void begin_call(struct open_call *o, struct place *p)
{
	o->record = begin_at_once(o, p);
	if (__builtin_expect(!o->record, 0))
		o->record = begin_slowly(o, p);
}

static __attribute__((noinline)) void begin_timed(struct open_call *o, struct place *p)
{
	struct cost_span span = cost_begin();

	begin_call(o, p);
	cost_end(span, COST_C_CALL);
	o->timed = o->record;
}

/* The end is the first thing that is done. */
static inline void end_call(const struct open_call *o)
{
	uint64_t now = clock_ticks();

	if (o->record)
		emit_end(o->record, o->cycle, now);
	if (__builtin_expect(o->timed, 0))
		cost_more(now, COST_C_CALL);
}

static void *call_place(void *a, void *b, void *c, void *d, void *e, unsigned i)
{
	struct place *p = &places[i];
	struct open_call o;
	void *result;

	if (__builtin_expect(!gate_cycle(), 0))
		return p->real(a, b, c, d, e);
	o = (struct open_call){ 0 };
	if (emit_is_sample())
		begin_timed(&o, p);
	else
		begin_call(&o, p);
	result = p->real(a, b, c, d, e);
	end_call(&o);
	return result;
}

/* ---- places ---- */

/* Where it is, or belongs. The table is never more than half full. */
static uint16_t *slot_of(const void *at)
{
	size_t i = hash_place((uintptr_t)at, SLOTS);

	while (table[i] && (const void *)places[table[i] - 1].at != at)
		i = (i + 1) % SLOTS;
	return &table[i];
}

bool c_place_find(const void *at)
{
	return *slot_of(at);
}

unsigned c_place_count(void)
{
	return atomic_load(&count);
}

/* Tables of methods may be constants. Pointers of one page are alike. */
static bool can_write(void *at)
{
	static uintptr_t page;
	uintptr_t of = (uintptr_t)at / PAGE;

	if (of == page)
		return true;
	if (!sys_can_write(at))
		return false;
	page = of;
	return true;
}

bool c_place_add(void *at, const char *name, size_t len)
{
	unsigned n = atomic_load(&count);
	struct place *p = &places[n];
	char *kept;

	if (n == C_PLACES || !can_write(at) || !(kept = arena_alloc(len + 1)))
		return false;
	memcpy(kept, name, len);
	c_entry_to = call_place;
	*p = (struct place){ .at = at, .name = kept, .len = (uint32_t)len };
	p->real = atomic_load(p->at);
	*slot_of(at) = (uint16_t)(n + 1);
	atomic_store_explicit(&count, n + 1, memory_order_release);
	return true;
}

/* ---- exchanged ---- */

static void store_all(bool ours)
{
	unsigned n = atomic_load_explicit(&count, memory_order_acquire);

	for (struct place *p = places; p < places + n; p++) {
		c_place_function *from = ours ? p->real : entry_of(p);

		atomic_compare_exchange_strong(p->at, &from,
					       ours ? entry_of(p) : p->real);
	}
}

/* The gate is read with the lock held: who moves it comes by behind, so that the last one
 * to come finds it as it stays. */
void c_place_settle(void)
{
	spin_lock(&busy);
	store_all(gate_cycle() && !left);
	spin_unlock(&busy);
}

void c_place_leave(void)
{
	spin_lock(&busy);
	left = true;
	store_all(false);
	spin_unlock(&busy);
}

/* Another thread may have been about to store when it forked; and names are in another
 * spool. */
void c_place_fork_child(void)
{
	atomic_flag_clear(&busy);
	store_all(false);
	for (unsigned i = 0; i < count; i++)
		atomic_store(&places[i].id, 0);
}
