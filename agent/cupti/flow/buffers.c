/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers for CUPTI's records: handed out, come back, taken by the consumer, used again.
 */
#include "agent/cupti/flow/buffers.h"
#include "base/arena.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/*
 * One map of the whole cap, cut into buffers; a buffer that was never handed out is clean
 * and costs nothing yet. A buffer is CUPTI's until it is completed, whatever happens;
 * then the consumer reads it, clears it and puts it back. CUPTI asks on the program's
 * threads: taking one is a compare and swap.
 */
#define EACH_THREAD (1u << 19) /* bytes, when each thread fills a buffer of its own */
#define EACH_SHARED (4u << 20)
#define GRAIN       (64u << 10) /* bytes: a smaller buffer is a multiple of this */
#define MOST        4096u /* buffers; a larger cap has larger ones */
#define READY       8u /* buffers that are touched and free, ahead of need */
#define WASTES      1024u /* of last resort, for versions that cannot take a NULL */
#define WASTE       (16u << 10)

/* Where a buffer is: with nobody or on the free list; with CUPTI; on the list of what has
 * come back. */
enum { HELD_NOT, HELD, HELD_FULL };

void (*buffers_wake)(void);

static struct {
	uint8_t *base, *waste;
	size_t each;
	uint32_t most;
	struct buffer *all; /* most, then WASTES */
	_Atomic uint64_t free, free_waste; /* change count << 32 | index + 1 */
	_Atomic uint32_t made; /* buffers handed out at least once */
	_Atomic uint32_t idle; /* on the free list */
	uint32_t touched;
	_Atomic(struct buffer *) done; /* newest first */
	_Atomic uint64_t turn, refused;
	buffers_before before;
	bool null_is_safe;
} pool;

/* ---- the free lists ---- */

/* The upper half of a list's word counts its changes: a thread that was held up between
 * reading the top and exchanging it fails then, though the same buffer be on top again
 * with another one below it. */

static struct buffer *pop_buffer(_Atomic uint64_t *list)
{
	uint64_t top = atomic_load(list), next;

	do {
		if (!(uint32_t)top)
			return NULL;
		next = atomic_load(&pool.all[(uint32_t)top - 1].next_free);
		next |= ((top >> 32) + 1) << 32;
	} while (!atomic_compare_exchange_weak(list, &top, next));
	return &pool.all[(uint32_t)top - 1];
}

static void push_buffer(_Atomic uint64_t *list, struct buffer *b)
{
	uint64_t top = atomic_load(list), next;

	do {
		atomic_store(&b->next_free, (uint32_t)top);
		next = (uint64_t)(b - pool.all + 1) | ((top >> 32) + 1) << 32;
	} while (!atomic_compare_exchange_weak(list, &top, next));
}

/* ---- the pool ---- */

/* MAP_NORESERVE: a cap of gigabytes must not be refused for what it might use one day;
 * most of it is never touched. */
static void *reserve_memory(size_t bytes)
{
	int saved = errno;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

static void cut_pool(uint64_t cap, bool per_thread)
{
	uint64_t each = per_thread ? EACH_THREAD : EACH_SHARED;

	each = each < cap / READY ? each : cap / READY / GRAIN * GRAIN;
	while (cap / each > MOST)
		each *= 2;
	pool.each = each;
	pool.most = (uint32_t)(cap / each);
}

bool buffers_start(uint32_t mb, bool per_thread, bool null_is_safe, buffers_before before)
{
	uint8_t *base;

	if (pool.base)
		return true;
	cut_pool((uint64_t)mb << 20, per_thread);
	pool.null_is_safe = null_is_safe;
	pool.before = before;
	pool.all = arena_alloc((pool.most + WASTES) * sizeof(*pool.all));
	if (!pool.waste)
		pool.waste = reserve_memory((size_t)WASTES * WASTE);
	base = pool.all && pool.waste ? reserve_memory(pool.most * pool.each) : NULL;
	if (!base)
		return false; /* no list has a buffer yet: so it may be tried again */
	for (uint32_t i = 0; i < pool.most + WASTES; i++) {
		struct buffer *b = &pool.all[i];

		b->discard = i >= pool.most;
		b->size = b->discard ? WASTE : pool.each;
		if (b->discard) {
			b->mem = pool.waste + (size_t)(i - pool.most) * WASTE;
			push_buffer(&pool.free_waste, b);
		}
	}
	pool.base = base;
	return true;
}

static struct buffer *make_buffer(void)
{
	uint32_t n = atomic_load(&pool.made);

	do {
		if (n >= pool.most)
			return NULL;
	} while (!atomic_compare_exchange_weak(&pool.made, &n, n + 1));
	pool.all[n].mem = pool.base + n * pool.each;
	return &pool.all[n];
}

static struct buffer *find_buffer(const uint8_t *mem)
{
	size_t at = (size_t)(mem - pool.base), wasted = (size_t)(mem - pool.waste);

	if (!pool.base)
		return NULL;
	if (mem >= pool.base && at / pool.each < pool.most && at % pool.each == 0)
		return &pool.all[at / pool.each];
	if (mem >= pool.waste && wasted / WASTE < WASTES && wasted % WASTE == 0)
		return &pool.all[pool.most + wasted / WASTE];
	return NULL;
}

bool buffers_ours(const uint8_t *mem)
{
	return find_buffer(mem) != NULL;
}

/* ---- CUPTI's side ---- */

void buffers_requested(uint8_t **buffer, size_t *size, size_t *most)
{
	struct buffer *b = pop_buffer(&pool.free);

	*buffer = NULL;
	*size = *most = 0;
	if (b)
		atomic_fetch_sub_explicit(&pool.idle, 1, memory_order_relaxed);
	else
		b = make_buffer();
	if (!b && !pool.null_is_safe)
		b = pop_buffer(&pool.free_waste);
	if (!b) {
		atomic_fetch_add(&pool.refused, 1);
		return;
	}
	atomic_store(&b->turn, 0); /* held since ever, until we know better */
	atomic_store(&b->held, HELD);
	atomic_store(&b->turn, atomic_fetch_add(&pool.turn, 1) + 1);
	*buffer = b->mem;
	*size = b->size;
}

void buffers_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
		       size_t valid)
{
	uint32_t held = HELD;
	struct buffer *b, *top;

	if (pool.before && pool.before(context, stream, buffer, size, valid))
		return;
	b = find_buffer(buffer);
	/* Only a buffer that CUPTI has can come back: once, and from where we gave it. */
	if (!b || !atomic_compare_exchange_strong(&b->held, &held, HELD_FULL))
		return;
	b->valid = valid < b->size ? valid : b->size;
	top = atomic_load(&pool.done);
	do
		b->next = top;
	while (!atomic_compare_exchange_weak(&pool.done, &top, b));
	if (buffers_wake)
		buffers_wake();
}

/* ---- the consumer's side ---- */

/* The whole list at once, turned round: CUPTI's threads put the newest in front, and
 * records are read in the order in which they came. */
struct buffer *buffers_take(void)
{
	struct buffer *b = atomic_exchange(&pool.done, NULL), *oldest = NULL;

	while (b) {
		struct buffer *next = b->next;

		b->next = oldest;
		oldest = b;
		b = next;
	}
	return oldest;
}

/* CUPTI is told that buffers are clean, so that it does not clear them in the middle
 * of a launch. */
void buffers_give(struct buffer *b)
{
	memset(b->mem, 0, b->size);
	atomic_store(&b->held, HELD_NOT);
	if (b->discard) {
		push_buffer(&pool.free_waste, b);
		return;
	}
	atomic_fetch_add_explicit(&pool.idle, 1, memory_order_relaxed);
	push_buffer(&pool.free, b);
}

/* A fresh buffer's first page fault would be in the middle of a launch of the program's:
 * the consumer has it instead. One at a time: on a busy machine a buffer takes long, and
 * a window that ends must not wait for eight. */
bool buffers_prepare(void)
{
	uint32_t made = atomic_load(&pool.made);

	if (!pool.base)
		return false;
	if (pool.touched < made)
		pool.touched = made;
	if (pool.touched >= pool.most ||
	    atomic_load(&pool.idle) + pool.touched - atomic_load(&pool.made) >= READY)
		return false;
	sys_touch(pool.base + pool.touched++ * pool.each, pool.each);
	return true;
}

uint64_t buffers_turn(void)
{
	return atomic_load(&pool.turn);
}

uint64_t buffers_turn_of(const uint8_t *mem)
{
	const struct buffer *b = find_buffer(mem);

	return b ? atomic_load(&b->turn) : 0;
}

/* Buffers are handed out clean: while the first word, a record's kind, is 0 there is no
 * record. */
static bool is_empty(const struct buffer *b)
{
	return !__atomic_load_n((const uint32_t *)b->mem, __ATOMIC_RELAXED);
}

bool buffers_held(uint64_t turn)
{
	for (uint32_t i = 0; i < atomic_load(&pool.made); i++) {
		const struct buffer *b = &pool.all[i];
		uint32_t held = atomic_load(&b->held);

		if (held == HELD_FULL)
			return true;
		if (held && atomic_load(&b->turn) <= turn && !is_empty(b))
			return true;
	}
	return false;
}

uint64_t buffers_refused(void)
{
	return atomic_load(&pool.refused);
}

void buffers_told(uint64_t n)
{
	atomic_fetch_sub(&pool.refused, n);
}

void buffers_fork_child(void)
{
	memset((void *)&pool, 0, sizeof(pool));
}
