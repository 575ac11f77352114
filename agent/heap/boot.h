/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot - malloc for calls that come before the real one is found.
 *
 * Threads  any; lock-free.
 * Memory   256 KiB of static memory, never given back: free does nothing.
 * Errors   NULL and ENOMEM, or as the C library's; EINVAL is returned by
 *          boot_posix_memalign.
 * Units    bytes.
 *
 * Only calls that come while the first call of all looks for the real functions are
 * served here. That call reads the list of objects itself, for the dynamic linker would
 * allocate, and asks the linker only for a symbol that it cannot read. So these blocks
 * are few, and a library that frees by another path (RTLD_DEEPBIND) hardly ever has one.
 */
#ifndef HEAP_BOOT_H
#define HEAP_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOOT_SIZE (256 * 1024)
extern uint8_t boot_memory[BOOT_SIZE] __attribute__((visibility("hidden")));

static inline bool boot_owns(const void *p)
{
	return __builtin_expect((uintptr_t)p - (uintptr_t)boot_memory < BOOT_SIZE, 0);
}

void *boot_malloc(size_t size);
void *boot_calloc(size_t count, size_t size);
/* `p` lies here, or is NULL; the new block does, too. */
void *boot_realloc(void *p, size_t size);
/* align: a power of two. */
void *boot_memalign(size_t align, size_t size);
int boot_posix_memalign(void **to, size_t align, size_t size);
size_t boot_usable(const void *p);
size_t boot_used(void); /* bytes taken so far */

#endif
