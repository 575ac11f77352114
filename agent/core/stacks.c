/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/stacks.h"
#include "agent/core/sys.h"

#include <string.h>

#define SLOTS        (1u << 22) /* of the lock-free index; a power of two */
#define PROBES       64
#define LINE         8 /* slots */
#define NODES_A_LINE (LINE / 2 * sizeof(struct stack) / 8) /* in ids */
#define PATH_MOST    4095
#define SHARE        4 /* stacks may take cap / SHARE bytes */
#define ID_MOST      0x7fffffffu /* stacks_pack: the top bit is taken */
#define BATCH        16 /* stacks for one thread */

/* Slot: hash in the high half, id in the low; 0 = empty. Private to the process. The
 * lowest bit of the hash tells modules from stacks. */
static _Atomic uint64_t *_Atomic slots;
static struct chunk_fill fill;

static bool large; /* pages of the index */

_Atomic uint32_t stacks_epoch = 1;

void stacks_many(void)
{
	large = true;
}

enum { HASH_STACK = 0, HASH_MODULE = 1 };

/* What is looked for: a stack or a module that may not be in the spool yet. */
struct entry {
	uint32_t hash;
	uint32_t size; /* in the spool */
	struct stack stack;
	struct stacks_room *room;
	/* a module */
	uint64_t bias;
	const uint8_t *build_id;
	unsigned build_id_len;
	const char *path;
	size_t path_len;
};

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0xff51afd7ed558ccdull;
	return h ^ h >> 32;
}

static bool same_stack(const struct stack *s, const struct stack *other)
{
	return s->caller == other->caller && s->frame == other->frame &&
	       s->flags == other->flags;
}

static bool same_module(const struct stack_module *m, const struct entry *e)
{
	return m->bias == e->bias && m->path_len == e->path_len &&
	       m->build_id_len == e->build_id_len &&
	       (!e->build_id_len || !memcmp(m->build_id, e->build_id, e->build_id_len)) &&
	       !memcmp(m->path, e->path, e->path_len);
}

static void fill_module(struct stack_module *m, const struct entry *e)
{
	memset(m, 0, sizeof(*m));
	m->bias = e->bias;
	m->build_id_len = (uint8_t)e->build_id_len;
	if (e->build_id_len)
		memcpy(m->build_id, e->build_id, e->build_id_len);
	m->path_len = (uint16_t)e->path_len;
	memcpy(m->path, e->path, e->path_len);
	m->path[e->path_len] = '\0';
}

static uint32_t line_of(uint32_t caller)
{
	return caller / NODES_A_LINE * LINE & (SLOTS - 1);
}

void stacks_expect(uint32_t caller)
{
	const _Atomic uint64_t *index =
		atomic_load_explicit(&slots, memory_order_acquire);

	if (caller && index)
		__builtin_prefetch((const void *)&index[line_of(caller)]);
}

/* The lines of a chunk's stacks lie as far into the index as they do in the spool. */
static void expect_all(uint64_t chunk)
{
	uint32_t at = line_of((uint32_t)(chunk / 8));
	uint32_t n = chunk_at(chunk)->size / sizeof(uint64_t);

	sys_touch(atomic_load(&slots) + at,
		  (n < SLOTS - at ? n : SLOTS - at) * sizeof(uint64_t));
}
_Static_assert(LINE * sizeof(uint64_t) == NODES_A_LINE * 8, "one byte for each");

static uint64_t place(uint32_t size)
{
	uint64_t where = chunk_room(&fill, CHUNK_STACKS, size, SHARE);

	if (where && where == atomic_load(&fill.chunk) + sizeof(struct chunk))
		expect_all(where - sizeof(struct chunk));
	return where;
}

static uint64_t place_of(const struct entry *e)
{
	struct stacks_room *room = e->room;

	if (!room)
		return place(e->size);
	if (room->at == room->end) {
		room->at = place(BATCH * e->size);
		room->end = room->at ? room->at + BATCH * e->size : 0;
		if (!room->at)
			return place(e->size);
	}
	room->at += e->size;
	return room->at - e->size;
}

static uint32_t store(const struct entry *e)
{
	uint64_t where = place_of(e);

	if (!where || where / 8 > ID_MOST)
		return 0;
	if (e->hash & HASH_MODULE)
		fill_module((struct stack_module *)(spool.base + where), e);
	else
		*(struct stack *)(spool.base + where) = e->stack;
	stacks_expect((uint32_t)(where / 8) + NODES_A_LINE);
	return (uint32_t)(where / 8);
}

static bool same(uint32_t id, const struct entry *e)
{
	const uint8_t *at = spool.base + (uint64_t)id * 8;

	return e->hash & HASH_MODULE ? same_module((const struct stack_module *)at, e)
				     : same_stack((const struct stack *)at, &e->stack);
}

static _Atomic uint64_t *index_get(void)
{
	_Atomic uint64_t *index = atomic_load_explicit(&slots, memory_order_acquire),
			 *none = NULL;

	if (index)
		return index;
	index = large ? sys_map_large(SLOTS * sizeof(*index))
		      : sys_map(SLOTS * sizeof(*index));
	if (index && !atomic_compare_exchange_strong(&slots, &none, index))
		return none; /* another thread was first; ours is left */
	return index;
}

/*
 * A stack begins near where its caller's number says, in one cache line that it shares
 * with other new ones: a program that goes through code for the first time finds them
 * there. Callers with many callees go on anywhere.
 */
static _Atomic uint64_t *slot_of(_Atomic uint64_t *index, const struct entry *e,
				 uint32_t probe)
{
	uint32_t at = (e->hash >> 1) + probe;

	if (e->stack.caller && probe < LINE)
		return &index[line_of(e->stack.caller) + at % LINE];
	return &index[at & (SLOTS - 1)];
}

static uint32_t intern(const struct entry *e)
{
	_Atomic uint64_t *index;
	uint32_t id = 0;

	if (!spool.head || !(index = index_get()))
		return 0;
	for (uint32_t i = 0; i < PROBES; i++) {
		_Atomic uint64_t *slot = slot_of(index, e, i);
		uint64_t word = atomic_load_explicit(slot, memory_order_acquire);

		if (!word) {
			if (!id && !(id = store(e)))
				return 0;
			if (atomic_compare_exchange_strong_explicit(
				    slot, &word, (uint64_t)e->hash << 32 | id,
				    memory_order_release, memory_order_acquire))
				return id;
		}
		if (word >> 32 == e->hash && same((uint32_t)word, e))
			return (uint32_t)word;
	}
	/* A crowded stretch of the index: stored again each time. */
	return id ? id : store(e);
}

uint32_t stacks_add(uint32_t caller, struct stack_frame frame, unsigned flags,
		    struct stacks_room *room)
{
	unsigned depth = 1;
	uint64_t h;

	if (caller)
		depth += ((struct stack *)(spool.base + (uint64_t)caller * 8))->depth;
	if (depth > STACKS_MOST)
		return 0;
	struct entry e = { .size = sizeof(struct stack),
			   .room = room,
			   .stack = { .caller = caller,
				      .depth = (uint16_t)depth,
				      .flags = (uint16_t)flags,
				      .frame = stacks_pack(frame) } };

	h = mix(mix(flags, caller), e.stack.frame);
	e.hash = (uint32_t)(h ^ h >> 32) & ~(uint32_t)HASH_MODULE;
	return intern(&e);
}

uint32_t stacks_module(uint64_t bias, const uint8_t *build_id, unsigned len,
		       const char *path)
{
	struct entry e = { .bias = bias, .build_id = build_id, .path = path };
	uint64_t h = mix(1, bias);

	e.path_len = strnlen(path, PATH_MOST);
	e.build_id_len = len > sizeof(((struct stack_module *)0)->build_id) ? 0 : len;
	for (unsigned i = 0; i < e.build_id_len; i++)
		h = mix(h, build_id[i]);
	for (size_t i = 0; i < e.path_len; i++)
		h = mix(h, (uint8_t)path[i]);
	e.hash = (uint32_t)(h ^ h >> 32) | HASH_MODULE;
	e.size = (uint32_t)((sizeof(struct stack_module) + e.path_len + 1 + 7) & ~7ull);
	return intern(&e);
}

void stacks_forget(void)
{
	large = false; /* most children have few */
	/* The map stays behind: somebody interrupted may still be looking into it. */
	atomic_store(&slots, NULL);
	atomic_fetch_add(&stacks_epoch, 1);
	atomic_store(&fill.chunk, 0);
	atomic_store(&fill.taken, 0);
}

/* ---- reading ---- */

static const struct stack *stack_at(const struct spool_view *v, uint32_t id)
{
	uint64_t where = (uint64_t)id * 8;

	return where < SPOOL_HEADER || where + sizeof(struct stack) > v->size
		       ? NULL
		       : (const struct stack *)(v->base + where);
}

unsigned stacks_depth(const struct spool_view *v, uint32_t id)
{
	const struct stack *s = stack_at(v, id);

	return s ? s->depth : 0;
}

/* Each caller has one frame less: so it ends. */
unsigned stacks_get(const struct spool_view *v, uint32_t id,
		    struct stack_frame frame[STACKS_MOST], unsigned most, unsigned *flags)
{
	unsigned n = 0, left = 0;

	*flags = 0;
	do {
		const volatile struct stack *s = stack_at(v, id); /* may change */
		unsigned depth = s ? s->depth : 0;
		uint64_t word;

		if (!depth || depth > STACKS_MOST || (n && depth != left))
			return 0;
		left = depth - 1;
		word = s->frame;
		if (word >> 63)
			frame[n++] = (struct stack_frame){ 0, word & INT64_MAX };
		else
			frame[n++] = (struct stack_frame){ (uint32_t)(word >> 32),
							   (uint32_t)word };
		*flags = s->flags & (STACK_CUT | STACK_ENDED | STACK_FOREIGN);
		id = s->caller;
	} while (left && n < most);
	if (left)
		*flags = STACK_CUT;
	return n;
}

const struct stack_module *stacks_module_get(const struct spool_view *v, uint32_t id)
{
	uint64_t where = (uint64_t)id * 8;
	const struct stack_module *m;

	if (where < SPOOL_HEADER || where + sizeof(*m) > v->size)
		return NULL;
	m = (const struct stack_module *)(v->base + where);
	if (m->path_len > PATH_MOST || m->build_id_len > sizeof(m->build_id) ||
	    where + sizeof(*m) + m->path_len + 1u > v->size || m->path[m->path_len])
		return NULL;
	return m;
}
