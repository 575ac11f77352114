/* SPDX-License-Identifier: Apache-2.0 */
/*
 * domain_bench - an allocator with a pool, as Python's, and ours in front of it.
 *
 * Threads  one.
 * Memory   static.
 * Errors   a failed Check assertion.
 * Units    bytes.
 */
#ifndef TESTS_DOMAIN_BENCH_H
#define TESTS_DOMAIN_BENCH_H

#include "agent/heap/domain.h"
#include "tests/unit/heap_bench.h"

#if HEAP_HOOKS

#define OBJECT (&heap_domain_ours[HEAP_DOMAIN_POOLS][HEAP_DOMAIN_OBJECT])
#define MEM    (&heap_domain_ours[HEAP_DOMAIN_POOLS][HEAP_DOMAIN_MEM])
#define LARGE  (HEAP_DOMAIN_SMALL + 1)

/* Allocators as Python's: small blocks in a pool, larger ones from malloc, and of 0
 * bytes. */
static int given[1]; /* the context of those behind ours */
static bool fails;
static char pool[1 << 16], *at = pool;

static inline bool is_in_pool(const void *p)
{
	return (const char *)p >= pool && (const char *)p < pool + sizeof(pool);
}

static inline void *their_malloc(void *context, size_t size)
{
	void *p = at;

	ck_assert_ptr_eq(context, given);
	if (fails)
		return NULL;
	if (!size || size > HEAP_DOMAIN_SMALL)
		return hook_test_malloc(size ? size : 1);
	at += (size + 16) & ~(size_t)15;
	ck_assert(is_in_pool(at));
	return p;
}

static inline void *their_calloc(void *context, size_t count, size_t size)
{
	void *p;

	if (!fails && count * size > HEAP_DOMAIN_SMALL)
		return hook_test_calloc(count, size);
	p = their_malloc(context, count * size);
	return p ? memset(p, 0, count * size) : p;
}

static inline void their_free(void *context, void *p)
{
	ck_assert_ptr_eq(context, given);
	if (!is_in_pool(p))
		hook_test_free(p);
}

/* A large block that shrinks stays malloc's. */
static inline void *their_realloc(void *context, void *p, size_t size)
{
	if (p && !is_in_pool(p))
		return fails ? NULL : hook_test_realloc(p, size ? size : 1);
	return their_malloc(context, size);
}

static inline void put_in_front(void)
{
	for (unsigned i = 0; i < HEAP_DOMAINS; i++)
		heap_domain_next[HEAP_DOMAIN_POOLS][i] =
			(struct allocator){ NULL, their_malloc, their_calloc,
					    their_realloc, their_free };
}

static inline struct cycle_info *window(enum heap_mode mode)
{
	put_in_front();
	return heap_window(mode);
}

/* A thread's first block only draws how far it is to its first sample. */
static inline struct cycle_info *window_of(bool sample)
{
	struct cycle_info *info = window(sample ? HEAP_SAMPLE : HEAP_ALL);
	if (sample)
		hook_test_free(hook_test_malloc(1));
	return info;
}

static inline void ck_records(unsigned allocs, unsigned frees)
{
	ck_assert_uint_eq(heap_records(REC_ALLOC, -1), allocs);
	ck_assert_uint_eq(heap_records(REC_FREE, -1), frees);
	ck_assert_uint_eq(guard_word, 0);
}

#endif
#endif
