/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/spool.h"
#include "agent/core/sys.h"

#include <errno.h>
#include <string.h>

#define CLASSES   3
#define TAG_SHIFT 40 /* offsets below 1 TiB, a change count above */
#define OFFSETS   ((1ull << TAG_SHIFT) - 1)

static _Atomic uint64_t free_list[CLASSES]; /* tagged tops, private to the process */

static unsigned class_of(uint32_t size)
{
	return size <= CHUNK_SMALL ? 0 : size <= CHUNK_MIDDLE ? 1 : 2;
}

static uint64_t pop(unsigned class)
{
	uint64_t top = atomic_load(&free_list[class]), next;

	do {
		if (!(top & OFFSETS))
			return 0;
		next = atomic_load(&chunk_at(top & OFFSETS)->next_free) & OFFSETS;
		next |= ((top >> TAG_SHIFT) + 1) << TAG_SHIFT;
	} while (!atomic_compare_exchange_weak(&free_list[class], &top, next));
	return top & OFFSETS;
}

void chunk_give(uint64_t offset)
{
	struct chunk *c = chunk_at(offset);
	_Atomic uint64_t *list = &free_list[class_of(c->size)];
	uint64_t top = atomic_load(list), next;

	atomic_store(&c->kind, CHUNK_FREE);
	do {
		atomic_store(&c->next_free, top & OFFSETS);
		next = offset | ((top >> TAG_SHIFT) + 1) << TAG_SHIFT;
	} while (!atomic_compare_exchange_weak(list, &top, next));
}

void spool_forget_chunks(void)
{
	for (unsigned i = 0; i < CLASSES; i++)
		atomic_store(&free_list[i], 0);
}

/* Never handed out before: only what is reserved may be touched (a full disk would
 * be a SIGBUS); what is reserved but not touched yet faults: thread.c counts that. */
static uint64_t fresh(uint32_t size)
{
	struct spool_header *h = spool.head;
	uint64_t at = atomic_load(&h->used);

	do {
		if (at + size > atomic_load(&h->reserved) ||
		    at + size > atomic_load(&h->limit))
			return 0;
	} while (!atomic_compare_exchange_weak(&h->used, &at, at + size));
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
	at = pop(class);
	if (!at)
		at = fresh(sizes[class]);
	for (unsigned larger = class + 1; !at && larger < CLASSES; larger++)
		at = pop(larger);
	if (!at)
		return 0;
	c = chunk_at(at);
	if (c->magic != CHUNK_MAGIC)
		c->size = sizes[class];
	c->cycle = cycle;
	atomic_store_explicit(&c->taken, 0, memory_order_relaxed);
	atomic_store_explicit(&c->used, sizeof(*c), memory_order_relaxed);
	atomic_store_explicit(&c->kind, kind, memory_order_release);
	c->magic = CHUNK_MAGIC;
	return at;
}

/* By one compare-and-swap on the chunk's length. */
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
		fresh = chunk_take(kind, chunk ? CHUNK_LARGE : CHUNK_MIDDLE, 0);
		if (!fresh)
			return 0;
		if (atomic_compare_exchange_strong(&f->chunk, &chunk, fresh))
			atomic_fetch_add(&f->taken, chunk_at(fresh)->size);
		else
			chunk_give(fresh);
	}
}

/* ---- reading ---- */

int spool_view_init(struct spool_view *v, const void *base, uint64_t size)
{
	const struct spool_header *h = base;

	if (size < SPOOL_HEADER || memcmp(h->magic, SPOOL_MAGIC, 8) ||
	    h->version != SPOOL_VERSION || h->header_size != SPOOL_HEADER)
		return -EINVAL;
	v->base = base;
	v->head = h;
	v->size = size;
	return 0;
}

static bool sound(const struct chunk *c, uint64_t room)
{
	if (c->magic != CHUNK_MAGIC || c->size > room || c->size % CHUNK_SMALL ||
	    c->size < CHUNK_SMALL)
		return false;
	if (atomic_load(&((struct chunk *)c)->kind) == CHUNK_REST)
		return true;
	if (c->size > CHUNK_LARGE)
		return false;
	return atomic_load_explicit(&((struct chunk *)c)->used, memory_order_relaxed) <=
	       c->size;
}

const struct chunk *spool_view_next(const struct spool_view *v, uint64_t *at)
{
	uint64_t end = atomic_load(&((struct spool_header *)v->head)->used);

	if (end > v->size)
		end = v->size;
	if (*at < SPOOL_HEADER)
		*at = SPOOL_HEADER;
	/* An owner that died between taking space and writing the header leaves a
	 * hole: look for the next header, chunk sizes are multiples of the smallest. */
	while (*at <= end && end - *at >= CHUNK_SMALL) {
		const struct chunk *c = (const struct chunk *)(v->base + *at);

		if (sound(c, end - *at)) {
			*at += c->size;
			return c;
		}
		*at += CHUNK_SMALL;
	}
	return NULL;
}
