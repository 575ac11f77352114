/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator that a signal may interrupt anywhere: it only goes on, and frees nothing.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SIZE (1ul << 30)

static uint8_t memory[SIZE] __attribute__((aligned(4096)));
static _Atomic size_t used;

static void *take(size_t align, size_t size)
{
	size_t at, begin;

	align = align < 16 ? 16 : align;
	at = atomic_load(&used);
	do {
		begin = (at + 16 + align - 1) & ~(align - 1);
		if (size > SIZE - begin || begin > SIZE) {
			atomic_store(&used,
				     4096); /* all over again: who tests frees in time */
			at = begin = 4096;
		}
	} while (!atomic_compare_exchange_weak(&used, &at, begin + size));
	memcpy(memory + begin - sizeof(size), &size, sizeof(size));
	return memory + begin;
}

size_t malloc_usable_size(void *p)
{
	size_t size = 0;

	if (p)
		memcpy(&size, (uint8_t *)p - sizeof(size), sizeof(size));
	return size;
}

void *malloc(size_t size)
{
	return take(16, size);
}

void *calloc(size_t count, size_t size)
{
	return memset(take(16, count * size), 0, count * size);
}

void *realloc(void *p, size_t size)
{
	size_t old = malloc_usable_size(p);
	void *moved = take(16, size);

	if (p)
		memcpy(moved, p, old < size ? old : size);
	return moved;
}

void *memalign(size_t align, size_t size)
{
	return take(align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	return take(align, size);
}

int posix_memalign(void **to, size_t align, size_t size)
{
	*to = take(align, size);
	return 0;
}

void free(void *p)
{
	(void)p;
}
