/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap arena: one counter of bytes taken, which only rises. The size of a block
 * stands in the word before it, for realloc. */
#include "agent/heap/boot.h"
#include "base/seldom.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define LEAST 16 /* alignment, and room for the size before each block */

/* The arena lies behind all other data (.lbss): a process that does not need it touches
 * none of its pages. */
SELDOM _Alignas(4096) uint8_t boot_memory[BOOT_SIZE];
static _Atomic size_t used;

size_t boot_used(void)
{
	return atomic_load(&used);
}

static size_t *size_of(const void *p)
{
	return (size_t *)((uintptr_t)p - sizeof(size_t));
}

/* Offset of a block of `size` bytes when `at` bytes are taken; 0 = no room. */
static size_t place_block(size_t at, size_t align, size_t size)
{
	size_t begin = (at + LEAST + align - 1) & ~(align - 1);

	return begin <= BOOT_SIZE && size <= BOOT_SIZE - begin ? begin : 0;
}

void *boot_memalign(size_t align, size_t size)
{
	size_t at = atomic_load_explicit(&used, memory_order_relaxed), begin;
	void *p;

	if (align < LEAST)
		align = LEAST;
	do {
		begin = align <= 4096 ? place_block(at, align, size) : 0;
		if (!begin) {
			errno = ENOMEM;
			return NULL;
		}
	} while (!atomic_compare_exchange_weak(&used, &at, begin + size));
	p = boot_memory + begin;
	*size_of(p) = size;
	return p;
}

void *boot_malloc(size_t size)
{
	return boot_memalign(LEAST, size);
}

/* The memory was never used before: it is zero. */
void *boot_calloc(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return boot_malloc(bytes);
}

void *boot_realloc(void *p, size_t size)
{
	size_t old = p ? boot_usable(p) : 0;
	void *moved;

	if (p && size <= old)
		return p;
	moved = boot_malloc(size);
	if (moved && p)
		memcpy(moved, p, old);
	return moved;
}

int boot_posix_memalign(void **to, size_t align, size_t size)
{
	int saved = errno;
	void *p;

	if (align < sizeof(void *) || align & (align - 1))
		return EINVAL;
	p = boot_memalign(align, size);
	errno = saved;
	if (!p)
		return ENOMEM;
	*to = p;
	return 0;
}

size_t boot_usable(const void *p)
{
	return *size_of(p);
}
