/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator - functions that allocate, with a context: what a program calls by pointer,
 * and not by name.  Python's PyMemAllocatorEx (Include/cpython/pymem.h, since 3.5).
 *
 * Threads  as its owner says.
 * Memory   plain data.
 * Errors   NULL, as malloc.
 * Units    bytes.
 */
#ifndef HOOKS_ALLOCATOR_H
#define HOOKS_ALLOCATOR_H

#include <stddef.h>

struct allocator {
	void *context;
	void *(*malloc)(void *context, size_t size);
	void *(*calloc)(void *context, size_t count, size_t size);
	void *(*realloc)(void *context, void *p, size_t size);
	void (*free)(void *context, void *p);
};

/* What debug hooks have behind them: where they keep it, and what was there. */
struct allocator_behind {
	const struct allocator *at;
	struct allocator was;
};

#endif
