/* SPDX-License-Identifier: Apache-2.0 */
/* A list of blocks, of which only the newest hands out memory. The first block is
 * static: the agent needs memory before its process can map any, and small programs
 * never need more. It lies in .bss, so that a page of it that nobody uses costs
 * nothing. */
#include "base/arena.h"
#include "base/seldom.h"
#include "base/sys.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#define FIRST       (64 * 1024)
#define BLOCK       (1024 * 1024)
#define MOST_BLOCKS 1024

/* A block hands out memory by one atomic add and is never given back. */
struct block {
	uint8_t *base; /* the block itself, but for the first one */
	size_t size;
	_Atomic size_t used;
};

static SELDOM _Alignas(64) uint8_t first_memory[FIRST]; /* not in the file */
static struct block first_block = { .base = first_memory, .size = FIRST };
static SELDOM _Atomic(struct block *) more_blocks[MOST_BLOCKS];
static _Atomic uint32_t newest;

static struct block *block_of(uint32_t n)
{
	return n ? atomic_load_explicit(&more_blocks[n - 1], memory_order_acquire)
		 : &first_block;
}

static void *take_from_block(struct block *b, size_t size)
{
	size_t at = atomic_load_explicit(&b->used, memory_order_relaxed);

	do {
		if (size > b->size || at > b->size - size)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		&b->used, &at, at + size, memory_order_relaxed, memory_order_relaxed));
	return b->base + at;
}

/* No thread waits for another one that adds a block: that one may have no processor,
 * may be what a handler of this very thread interrupted, or may not exist after a
 * fork. Two may map a block at once; the one that loses gives its map back. */
static bool add_block(uint32_t seen, size_t size)
{
	struct block *none = NULL, *b;

	if (seen >= MOST_BLOCKS)
		return false;
	if (!atomic_load(&more_blocks[seen])) {
		size += (sizeof(*b) + 15) & ~(size_t)15;
		size = size > BLOCK ? (size + 4095) & ~(size_t)4095 : BLOCK;
		b = sys_map(size);
		if (!b)
			return atomic_load(&more_blocks[seen]);
		b->base = (uint8_t *)b;
		b->size = size;
		b->used = (sizeof(*b) + 15) & ~(size_t)15;
		if (!atomic_compare_exchange_strong(&more_blocks[seen], &none, b))
			munmap(b, size);
	}
	atomic_compare_exchange_strong(&newest, &seen, seen + 1);
	return true;
}

void *arena_alloc(size_t size)
{
	/* The sum below, and a block's size, cannot wrap then. */
	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + 15) & ~(size_t)15;
	for (;;) {
		uint32_t n = atomic_load_explicit(&newest, memory_order_acquire);
		void *p = take_from_block(block_of(n), size);

		if (p || !add_block(n, size))
			return p;
	}
}
