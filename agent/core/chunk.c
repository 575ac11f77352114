/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handing out the spool. A chunk that was given back lies on a list for its size; space
 * that was never handed out lies behind all chunks. The lists are stacks whose tops carry
 * a count of changes, so that a top that was taken and put back meanwhile is seen to have
 * changed.
 */
#include "agent/core/chunk.h"
#include "agent/core/job.h"
#include "agent/core/rare.h"
#include "base/sys.h"

#define CLASSES    3
#define KEPT_LEAST (8ull << 20) /* bytes */
#define TAG_SHIFT  40 /* offsets below 1 TiB, a change count above */
#define OFFSETS    ((1ull << TAG_SHIFT) - 1)

/* Free chunks of each size, linked through next_free, private to the process. Above the
 * offset a top counts its changes: so a thread that stopped between look and swap never
 * takes a chunk that was popped and given back meanwhile for the top that it saw. */
static _Atomic uint64_t free_list[CLASSES];
static _Atomic uint64_t free_bytes; /* on all of them */
static _Atomic uint64_t kept_most = UINT64_MAX; /* most that is kept (chunk_left) */

static unsigned class_of(uint32_t size)
{
	return size <= CHUNK_SMALL ? 0 : size <= CHUNK_MIDDLE ? 1 : 2;
}

static uint64_t pop_free(unsigned class)
{
	uint64_t top = atomic_load(&free_list[class]), next;

	do {
		if (!(top & OFFSETS))
			return 0;
		next = atomic_load(&chunk_at(top & OFFSETS)->next_free) & OFFSETS;
		next |= ((top >> TAG_SHIFT) + 1) << TAG_SHIFT;
	} while (!atomic_compare_exchange_weak(&free_list[class], &top, next));
	atomic_fetch_sub_explicit(&free_bytes, chunk_at(top & OFFSETS)->size,
				  memory_order_relaxed);
	return top & OFFSETS;
}

void chunk_give(uint64_t offset)
{
	struct chunk *c = chunk_at(offset);
	_Atomic uint64_t *list = &free_list[class_of(c->size)];
	uint64_t top = atomic_load(list), next;

	atomic_store(&c->kind, CHUNK_FREE);
	/* Added first: no thread can take the chunk off before it is on the list. */
	atomic_fetch_add_explicit(&free_bytes, c->size, memory_order_relaxed);
	do {
		atomic_store(&c->next_free, top & OFFSETS);
		next = offset | ((top >> TAG_SHIFT) + 1) << TAG_SHIFT;
	} while (!atomic_compare_exchange_weak(list, &top, next));
}

void chunk_forget(void)
{
	for (unsigned i = 0; i < CLASSES; i++)
		atomic_store(&free_list[i], 0);
	atomic_store(&free_bytes, 0);
	chunk_left(UINT64_MAX);
}

void chunk_left(uint64_t bytes)
{
	atomic_store(&kept_most, bytes == UINT64_MAX ? bytes : bytes / 4);
}

/* Pages of the spool count in the control group, and where it is nearly full they take
 * the place of the program's own code. */
static bool is_group_full(void)
{
	uint64_t most =
		job ? atomic_load_explicit(&job->heap_most, memory_order_relaxed) : 0;
	uint64_t used = atomic_load_explicit(&spool.head->used, memory_order_relaxed);
	uint64_t free = atomic_load_explicit(&free_bytes, memory_order_relaxed);

	return most && used >= free + (most << 10);
}

bool chunk_spares(void)
{
	uint64_t limit = atomic_load_explicit(&spool.head->limit, memory_order_relaxed);
	uint64_t used = atomic_load_explicit(&spool.head->used, memory_order_relaxed);
	uint64_t free = atomic_load_explicit(&free_bytes, memory_order_relaxed);
	uint64_t kept = limit / 4 > KEPT_LEAST ? limit / 4 : KEPT_LEAST;

	kept = kept < limit / 2 ? kept : limit / 2;
	if (kept > atomic_load_explicit(&kept_most, memory_order_relaxed))
		kept = atomic_load_explicit(&kept_most, memory_order_relaxed);
	return (limit > used ? limit - used : 0) + free >= kept && !is_group_full();
}

/* The program's thread waits for the page, so the time counts as rare. */
static bool populate_page(uint64_t at, uint32_t size)
{
	struct rare cost;
	bool done;

	rare_begin(&cost);
	done = spool_populate(at, size);
	rare_end(&cost);
	return done;
}

/*
 * Space that was never handed out.  What our own thread has not made ready is populated
 * here, before `used` moves past it: a reader that walks the spool up to `used` reads
 * each chunk's header, and a page that a full disk cannot give is a SIGBUS for it, too.
 */
static uint64_t move_used(struct spool_header *h, uint32_t size)
{
	uint64_t at = atomic_load(&h->used);

	do {
		if (at + size > atomic_load(&h->reserved) ||
		    at + size > atomic_load(&h->limit))
			return 0;
		if (at + size > atomic_load(&h->ready) && !populate_page(at, size))
			return 0;
	} while (!atomic_compare_exchange_weak(&h->used, &at, at + size));
	return at;
}

/* Did this thread find the spool small? Then its records are not lost to a full one. */
static __thread bool was_small __attribute__((tls_model("initial-exec")));

static uint64_t take_unused(uint32_t size)
{
	uint64_t at;

	was_small = !spool_pin();
	if (was_small)
		return 0;
	at = move_used(spool.head, size);
	spool_unpin();
	return at;
}

uint64_t chunk_take(enum chunk_kind kind, uint32_t size, uint64_t cycle)
{
	unsigned class = class_of(size);
	uint32_t sizes[CLASSES] = { CHUNK_SMALL, CHUNK_MIDDLE, CHUNK_LARGE };
	uint64_t at = 0;
	struct chunk *c;

	if (!spool.head || size > CHUNK_LARGE)
		return 0;
	at = pop_free(class);
	if (!at)
		at = take_unused(sizes[class]);
	/* At the cap a free chunk of a larger size serves as well. */
	for (unsigned larger = class + 1; !at && larger < CLASSES; larger++)
		at = pop_free(larger);
	if (!at)
		return 0;
	c = chunk_at(at);
	/* A chunk that was in use before keeps its size: readers step by it. */
	if (c->magic != CHUNK_MAGIC)
		c->size = sizes[class];
	c->cycle = cycle;
	atomic_store_explicit(&c->taken, 0, memory_order_relaxed);
	atomic_store_explicit(&c->used, sizeof(*c), memory_order_relaxed);
	atomic_store_explicit(&c->kind, kind, memory_order_release);
	c->magic = CHUNK_MAGIC;
	return at;
}

enum drop_kind chunk_lacks(enum record_kind kind)
{
	if (sys_confined)
		return DROP_CONFINED;
	if (was_small) {
		was_small = false;
		return DROP_LOCKED;
	}
	return record_is_heap(kind) && is_group_full() ? DROP_GROUP : DROP_CAP;
}

/* All threads fill one chunk: each takes its bytes by a compare-and-swap on `used`. Of
 * the threads that find it full the first one's new chunk is taken for all; the others
 * give their chunks back. */
uint64_t chunk_room(struct chunk_fill *f, enum chunk_kind kind, uint32_t size,
		    unsigned share)
{
	for (;;) {
		uint64_t chunk = atomic_load(&f->chunk), fresh;

		if (chunk) {
			struct chunk *c = chunk_at(chunk);
			uint32_t used = atomic_load(&c->used);

			while (used + size <= c->size)
				if (atomic_compare_exchange_weak(&c->used, &used,
								 used + size))
					return chunk + used;
		}
		if (chunk &&
		    atomic_load(&f->taken) + CHUNK_LARGE > spool.head->cap / share)
			return 0;
		if (kind == CHUNK_STACKS && !chunk_spares())
			return 0;
		fresh = chunk_take(kind, chunk ? CHUNK_LARGE : CHUNK_MIDDLE, 0);
		if (!fresh)
			return 0;
		if (atomic_compare_exchange_strong(&f->chunk, &chunk, fresh))
			atomic_fetch_add(&f->taken, chunk_at(fresh)->size);
		else
			chunk_give(fresh);
	}
}
