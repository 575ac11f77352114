/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/arena.h"
#include "agent/core/sys.h"

#include <stdatomic.h>
#include <stdint.h>

#define FIRST       (64 * 1024)
#define BLOCK       (1024 * 1024)
#define MOST_BLOCKS 1024

/* A block hands out memory by one atomic add and is never given back. */
struct block {
	uint8_t *base;
	size_t size;
	_Atomic size_t used;
};

static _Alignas(64) uint8_t first_memory[FIRST];
static struct block blocks[MOST_BLOCKS] = { { .base = first_memory, .size = FIRST } };
static _Atomic uint32_t newest;

static void *take(struct block *b, size_t size)
{
	size_t at = atomic_load_explicit(&b->used, memory_order_relaxed);

	do {
		if (size > b->size || at > b->size - size)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		&b->used, &at, at + size, memory_order_relaxed, memory_order_relaxed));
	return b->base + at;
}

/* Adds a block; a thread that loses the race gives its map back. */
static bool grow(uint32_t seen, size_t size)
{
	static _Atomic uint32_t busy;
	uint32_t idle = 0;

	if (seen + 1 >= MOST_BLOCKS)
		return false;
	if (!atomic_compare_exchange_strong(&busy, &idle, 1))
		return true; /* another thread is at it: look again */
	if (atomic_load(&newest) == seen) {
		size_t bytes = size > BLOCK ? (size + 4095) & ~(size_t)4095 : BLOCK;
		void *base = sys_map(bytes);

		if (base) {
			blocks[seen + 1].base = base;
			blocks[seen + 1].size = bytes;
			atomic_store(&newest, seen + 1);
		} else {
			atomic_store(&busy, 0);
			return false;
		}
	}
	atomic_store(&busy, 0);
	return true;
}

void *arena_alloc(size_t size)
{
	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + 15) & ~(size_t)15;
	for (;;) {
		uint32_t n = atomic_load_explicit(&newest, memory_order_acquire);
		void *p = take(&blocks[n], size);

		if (p || !grow(n, size))
			return p;
	}
}

bool arena_owns(const void *p)
{
	uint32_t n = atomic_load_explicit(&newest, memory_order_acquire);

	for (uint32_t i = 0; i <= n; i++) {
		size_t at = (size_t)((const uint8_t *)p - blocks[i].base);

		if (at < blocks[i].size)
			return true;
	}
	return false;
}
