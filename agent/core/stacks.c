/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/stacks.h"
#include "agent/core/sys.h"

#include <string.h>

#define SLOTS     (1u << 18) /* of the lock-free index; a power of two */
#define PROBES    64
#define PATH_MOST 4095
#define SHARE     4 /* stacks may take cap / SHARE bytes */
#define ID_MOST   0x7fffffffu /* stacks_pack: the top bit is taken */

/* Slot: hash in the high half, id in the low; 0 = empty. Private to the process. The
 * lowest bit of the hash tells modules from stacks. */
static _Atomic uint64_t *_Atomic slots;
static _Atomic uint64_t filling; /* offset of the chunk that takes new entries */
static _Atomic uint64_t taken; /* bytes of chunks so far */

_Atomic uint32_t stacks_epoch = 1;

enum { HASH_STACK = 0, HASH_MODULE = 1 };

/* What is looked for: a stack or a module that may not be in the spool yet. */
struct entry {
	uint32_t hash;
	uint32_t size; /* in the spool */
	/* a stack */
	const struct stack_frame *frame;
	unsigned depth, flags;
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

static bool same_stack(const struct stack *s, const struct entry *e)
{
	if (s->hash != e->hash || s->depth != e->depth || s->flags != e->flags)
		return false;
	for (unsigned i = 0; i < e->depth; i++)
		if (s->frame[i] != stacks_pack(e->frame[i]))
			return false;
	return true;
}

static bool same_module(const struct stack_module *m, const struct entry *e)
{
	return m->bias == e->bias && m->path_len == e->path_len &&
	       m->build_id_len == e->build_id_len &&
	       (!e->build_id_len || !memcmp(m->build_id, e->build_id, e->build_id_len)) &&
	       !memcmp(m->path, e->path, e->path_len);
}

static void fill_stack(struct stack *s, const struct entry *e)
{
	s->hash = e->hash;
	s->depth = (uint16_t)e->depth;
	s->flags = (uint16_t)e->flags;
	for (unsigned i = 0; i < e->depth; i++)
		s->frame[i] = stacks_pack(e->frame[i]);
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

/* Room for `size` bytes, by one compare-and-swap on the chunk's length. */
static uint64_t room(uint32_t size)
{
	for (;;) {
		uint64_t chunk = atomic_load(&filling), fresh;

		if (chunk) {
			struct chunk *c = chunk_at(chunk);
			uint32_t used = atomic_load(&c->used);

			while (used + size <= c->size)
				if (atomic_compare_exchange_weak(&c->used, &used,
								 used + size))
					return chunk + used;
		}
		if (chunk && atomic_load(&taken) + CHUNK_LARGE > spool.head->cap / SHARE)
			return 0;
		fresh = chunk_take(CHUNK_STACKS, chunk ? CHUNK_LARGE : CHUNK_MIDDLE, 0);
		if (!fresh)
			return 0;
		if (atomic_compare_exchange_strong(&filling, &chunk, fresh))
			atomic_fetch_add(&taken, chunk_at(fresh)->size);
		else
			chunk_give(fresh);
	}
}

static uint32_t store(const struct entry *e)
{
	uint64_t where = room(e->size);

	if (!where || where / 8 > ID_MOST)
		return 0;
	if (e->hash & HASH_MODULE)
		fill_module((struct stack_module *)(spool.base + where), e);
	else
		fill_stack((struct stack *)(spool.base + where), e);
	return (uint32_t)(where / 8);
}

static bool same(uint32_t id, const struct entry *e)
{
	const uint8_t *at = spool.base + (uint64_t)id * 8;

	return e->hash & HASH_MODULE ? same_module((const struct stack_module *)at, e)
				     : same_stack((const struct stack *)at, e);
}

static _Atomic uint64_t *index_get(void)
{
	_Atomic uint64_t *index = atomic_load_explicit(&slots, memory_order_acquire),
			 *none = NULL;

	if (index)
		return index;
	index = sys_map(SLOTS * sizeof(*index));
	if (index && !atomic_compare_exchange_strong(&slots, &none, index))
		return none; /* another thread was first; ours is left */
	return index;
}

static uint32_t intern(const struct entry *e)
{
	_Atomic uint64_t *index;
	uint32_t id = 0;

	if (!spool.head || !(index = index_get()))
		return 0;
	for (uint32_t i = 0; i < PROBES; i++) {
		_Atomic uint64_t *slot = &index[((e->hash >> 1) + i) & (SLOTS - 1)];
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

uint32_t stacks_add(const struct stack_frame *frame, unsigned depth, unsigned flags)
{
	struct entry e = { .frame = frame, .flags = (uint16_t)flags };
	uint64_t h;

	if (depth > STACKS_MOST) {
		depth = STACKS_MOST;
		e.flags |= STACK_CUT;
	}
	if (!depth)
		return 0;
	e.depth = depth;
	h = mix(depth, e.flags);
	for (unsigned i = 0; i < depth; i++)
		h = mix(h, stacks_pack(frame[i]));
	e.hash = (uint32_t)(h ^ h >> 32) & ~(uint32_t)HASH_MODULE;
	e.size = (uint32_t)(sizeof(struct stack) + depth * sizeof(uint64_t));
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
	/* The map stays behind: somebody interrupted may still be looking into it. */
	atomic_store(&slots, NULL);
	atomic_fetch_add(&stacks_epoch, 1);
	atomic_store(&filling, 0);
	atomic_store(&taken, 0);
}

/* ---- reading ---- */

unsigned stacks_get(const struct spool_view *v, uint32_t id,
		    struct stack_frame frame[STACKS_MOST], unsigned *flags)
{
	uint64_t where = (uint64_t)id * 8;
	const struct stack *s;
	unsigned depth;

	*flags = 0;
	if (where < SPOOL_HEADER || where + sizeof(*s) > v->size)
		return 0;
	s = (const struct stack *)(v->base + where);
	depth = *(const volatile uint16_t *)&s->depth; /* read once: may change */
	if (depth > STACKS_MOST ||
	    where + sizeof(*s) + depth * sizeof(uint64_t) > v->size)
		return 0;
	*flags = s->flags & (STACK_CUT | STACK_ENDED | STACK_FOREIGN);
	for (unsigned i = 0; i < depth; i++) {
		uint64_t word = s->frame[i];

		if (word >> 63)
			frame[i] = (struct stack_frame){ 0, word & INT64_MAX };
		else
			frame[i] = (struct stack_frame){ (uint32_t)(word >> 32),
							 (uint32_t)word };
	}
	return depth;
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
