/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks and modules in the spool, each once. An index by hash, private to the process,
 * finds the id of what is there already; a reader of the spool needs the entries alone.
 */
#include "agent/core/stacks.h"
#include "base/hash.h"
#include "base/sys.h"

#include <string.h>
#include <sys/mman.h>

#define SLOTS        (1u << 22) /* of the lock-free index; a power of two ... */
#define SLOTS_MOST   (1u << 26) /* ... or more, one for each that there is room for ... */
#define SLOTS_SCARCE (1u << 17) /* ... and where memory is limited */
#define TRIES        64 /* to put an entry there */
#define LEVEL_LEAST  9 /* log2 of the slots taken by hash at first ... */
#define LINES        8 /* ... lines tried there, while they are full ... */
#define LEVEL_STEP   2 /* ... and the step by which that log2 grows */
#define LINE         8 /* slots of a cache line */
#define NODES_A_LINE (LINE / 2 * sizeof(struct stack) / 8) /* ids that share a line */
#define SHARE        4 /* stacks may take cap / SHARE bytes */
#define ID_MOST      0x7fffffffu /* stacks_pack: the top bit is taken */
#define BATCH        16 /* stacks that a thread takes room for at once */
#define MANY         (2u << 20) /* bytes of stacks: from there on large pages pay */

/* Slot: hash in the high half, id in the low; 0 = empty. Private to the process. The
 * lowest bit of the hash tells modules from stacks. */
static _Atomic uint64_t *_Atomic slots;
static uint32_t slots_n = SLOTS;
static _Atomic uint32_t hashed; /* slots that were taken by hash */
static struct chunk_fill fill;
static bool many; /* there may be many stacks: the index may have large pages ... */
static _Atomic bool large; /* ... and has: to clear the first is what a short process
			    * would notice */
_Atomic uint32_t stacks_epoch = 1;

void stacks_many(void)
{
	many = true;
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

static uint64_t hash_word(uint64_t h, uint64_t word)
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
	return caller / NODES_A_LINE * LINE & (slots_n - 1);
}

void stacks_expect(uint32_t caller)
{
	const _Atomic uint64_t *index =
		atomic_load_explicit(&slots, memory_order_acquire);

	if (caller && index)
		__builtin_prefetch((const void *)&index[line_of(caller)]);
}

/* Populates the index for a chunk's stacks: they lie as far into it as into the spool. */
static void expect_all(uint64_t chunk)
{
	uint32_t at = line_of((uint32_t)(chunk / 8));
	uint32_t n = chunk_at(chunk)->size / sizeof(uint64_t);

	sys_touch(atomic_load(&slots) + at,
		  (n < slots_n - at ? n : slots_n - at) * sizeof(uint64_t));
}
_Static_assert(LINE * sizeof(uint64_t) == NODES_A_LINE * 8, "one byte for each");

static uint64_t take_spool_room(uint32_t size)
{
	uint64_t where = chunk_room(&fill, CHUNK_STACKS, size, SHARE);

	if (!where || where != atomic_load(&fill.chunk) + sizeof(struct chunk))
		return where;
	if (many && atomic_load(&fill.taken) > MANY && !atomic_exchange(&large, true))
		sys_large((void *)atomic_load(&slots), slots_n * sizeof(uint64_t));
	expect_all(where - sizeof(struct chunk));
	return where;
}

/* A thread takes room for BATCH stacks at once: threads contend for the chunk's
 * length. */
static uint64_t place_of(const struct entry *e)
{
	struct stacks_room *room = e->room;

	if (!room)
		return take_spool_room(e->size);
	if (room->at == room->end) {
		room->at = take_spool_room(BATCH * e->size);
		room->end = room->at ? room->at + BATCH * e->size : 0;
		if (!room->at)
			return take_spool_room(e->size);
	}
	room->at += e->size;
	return room->at - e->size;
}

static uint32_t store_entry(const struct entry *e)
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

static bool same_entry(uint32_t id, const struct entry *e)
{
	const uint8_t *at = spool.base + (uint64_t)id * 8;

	return e->hash & HASH_MODULE ? same_module((const struct stack_module *)at, e)
				     : same_stack((const struct stack *)at, &e->stack);
}

static void *map_slots(void)
{
	uint64_t most = spool.cap / SHARE / sizeof(struct stack);

	if (sys_scarce)
		slots_n = SLOTS_SCARCE;
	while (!sys_scarce && slots_n < most && slots_n < SLOTS_MOST)
		slots_n *= 2;
	return many && !sys_scarce ? sys_map_for_large(slots_n * sizeof(*slots))
				   : sys_map(slots_n * sizeof(*slots));
}

/*
 * A stack lies near where its caller's number says, in one cache line that it shares with
 * other new ones: a program that goes through code for the first time finds them there.
 * What finds no room, or has no caller, lies by its hash in a part of the index that
 * grows with the number of such entries: each page of it costs two page faults.
 */
static unsigned level_now(void)
{
	uint64_t n = atomic_load_explicit(&hashed, memory_order_relaxed);
	unsigned level = LEVEL_LEAST;

	while (1ull << level < 4 * n && 1u << level < slots_n)
		level += LEVEL_STEP;
	return level;
}

/* The id of `e`, if the line has it; else *empty is where it may go, NULL = nowhere. */
static uint32_t look_in(_Atomic uint64_t *line, const struct entry *e,
			_Atomic uint64_t **empty)
{
	for (uint32_t i = 0; i < LINE; i++) {
		_Atomic uint64_t *slot = &line[((e->hash >> 1) + i) % LINE];
		uint64_t word = atomic_load_explicit(slot, memory_order_acquire);

		if (!word) {
			*empty = slot;
			return 0;
		}
		if (word >> 32 == e->hash && same_entry((uint32_t)word, e))
			return (uint32_t)word;
	}
	*empty = NULL;
	return 0;
}

static bool put_in(_Atomic uint64_t *slot, const struct entry *e, uint32_t id)
{
	uint64_t none = 0;

	return atomic_compare_exchange_strong_explicit(
		slot, &none, (uint64_t)e->hash << 32 | id, memory_order_release,
		memory_order_relaxed);
}

/* No two levels' parts have a slot in common, but for the last one, which is all of the
 * index: else the small ones would fill up with what belongs to others. */
static uint32_t slot_at(unsigned level, uint32_t hash)
{
	uint32_t size = 1u << level, at = (hash >> 4) * LINE;

	return size < slots_n ? size + (at & (size - 1)) : at & (slots_n - 1);
}

/* Searches each level's part of the index. A stack that was put into a smaller part, when
 * stacks were fewer, is found there and put where it would go now. */
static uint32_t find_by_hash(_Atomic uint64_t *index, const struct entry *e,
			     _Atomic uint64_t **empty)
{
	unsigned now = level_now();

	for (unsigned level = now;; level -= LEVEL_STEP) {
		uint32_t at = slot_at(level, e->hash);
		_Atomic uint64_t *here;
		uint32_t id = look_in(&index[at], e, &here);

		for (uint32_t i = 1; !id && !here && i < LINES; i++)
			id = look_in(&index[at ^ i * LINE], e, &here);
		if (level == now)
			*empty = here;
		else if (id && *empty)
			put_in(*empty, e, id);
		if (id || level == LEVEL_LEAST)
			return id;
	}
}

static uint32_t intern_entry(const struct entry *e)
{
	_Atomic uint64_t *index, *empty;
	uint32_t id = 0, found;
	bool by_hash;

	if (!spool.head || !(index = hash_table(&slots, map_slots)))
		return 0;
	for (unsigned i = 0; i < TRIES; i++) {
		empty = NULL;
		found = e->stack.caller
				? look_in(&index[line_of(e->stack.caller)], e, &empty)
				: 0;
		by_hash = !found && !empty;
		if (by_hash)
			found = find_by_hash(index, e, &empty);
		if (found)
			return found;
		if (!id && !(id = store_entry(e)))
			return 0;
		if (!empty) /* crowded: stored again each time */
			return id;
		if (put_in(empty, e, id)) {
			if (by_hash)
				atomic_fetch_add(&hashed, 1);
			return id;
		}
	}
	return id; /* other threads were first each time */
}

uint32_t stacks_add(uint32_t caller, struct stack_frame frame, unsigned flags,
		    struct stacks_room *room)
{
	unsigned depth = 1;
	uint64_t h;

	if (caller)
		depth += ((struct stack *)(spool.base + (uint64_t)caller * 8))->depth;
	if (depth > STACKS_MOST && flags != STACK_PAIR)
		return 0;
	struct entry e = { .size = sizeof(struct stack),
			   .room = room,
			   .stack = { .caller = caller,
				      .depth = (uint16_t)depth,
				      .flags = (uint16_t)flags,
				      .frame = stacks_pack(frame) } };

	h = hash_word(hash_word(flags, caller), e.stack.frame);
	e.hash = (uint32_t)(h ^ h >> 32) & ~(uint32_t)HASH_MODULE;
	return intern_entry(&e);
}

uint32_t stacks_module(uint64_t bias, const uint8_t *build_id, unsigned len,
		       const char *path)
{
	struct entry e = { .bias = bias, .build_id = build_id, .path = path };
	uint64_t h = hash_word(1, bias);

	e.path_len = strnlen(path, STACKS_PATH_MOST);
	e.build_id_len = len > sizeof(((struct stack_module *)0)->build_id) ? 0 : len;
	for (unsigned i = 0; i < e.build_id_len; i++)
		h = hash_word(h, build_id[i]);
	for (size_t i = 0; i < e.path_len; i++)
		h = hash_word(h, (uint8_t)path[i]);
	e.hash = (uint32_t)(h ^ h >> 32) | HASH_MODULE;
	e.size = (uint32_t)((sizeof(struct stack_module) + e.path_len + 1 + 7) & ~7ull);
	return intern_entry(&e);
}

void stacks_shrink(void)
{
	_Atomic uint64_t *index = atomic_exchange(&slots, NULL);

	if (index)
		munmap((void *)index, slots_n * sizeof(*index));
}

void stacks_forget(void)
{
	many = false; /* most children have few */
	atomic_store(&large, false);
	stacks_shrink();
	atomic_fetch_add(&stacks_epoch, 1);
	atomic_store(&hashed, 0);
	atomic_store(&fill.chunk, 0);
	atomic_store(&fill.taken, 0);
}
