/* SPDX-License-Identifier: Apache-2.0 */
/* What each thread has allocated and freed, in usable bytes: malloc = count. */
#include "agent/hooks/heap_parts.h"

/* Of threads after their end, all together. */
static _Atomic uint64_t orphans[THREAD_HEAP];

/* ---- a block's size ---- */

/*
 * glibc writes it, with three flags, into the word before the block, and to read it there
 * is half of what asking for it costs. That is nobody's promise, so it is believed only
 * after so many blocks of this very process have had what malloc_usable_size said.
 */
#define TRIALS 256
enum { ASK, TRY, READ }; /* sizes */
enum { MAPPED = 2, FLAGS = 7, WORD = sizeof(size_t) };

static _Atomic uint32_t sizes = ASK, trials;

void heap_sizes_try(void)
{
	atomic_store_explicit(&trials, 0, memory_order_relaxed);
	atomic_store_explicit(&sizes, TRY, memory_order_relaxed);
}

static inline size_t written(const void *p)
{
	return ((const size_t *)p)[-1];
}

static __attribute__((noinline)) size_t ask(void *p)
{
	size_t usable = heap_real.malloc_usable_size(p), word;

	if (atomic_load_explicit(&sizes, memory_order_relaxed) != TRY)
		return usable;
	word = written(p);
	if (!(word & MAPPED) && (word & ~(size_t)FLAGS) - WORD != usable)
		atomic_store_explicit(&sizes, ASK, memory_order_relaxed);
	else if (atomic_fetch_add_explicit(&trials, 1, memory_order_relaxed) == TRIALS)
		atomic_store_explicit(&sizes, READ, memory_order_relaxed);
	return usable;
}

static inline size_t usable_of(void *p)
{
	if (__builtin_expect(atomic_load_explicit(&sizes, memory_order_relaxed) == READ,
			     1)) {
		size_t word = written(p);

		if (__builtin_expect(!(word & MAPPED), 1))
			return (word & ~(size_t)FLAGS) - WORD;
	}
	return ask(p);
}

size_t heap_usable(void *p)
{
	return usable_of(p);
}

/* ---- counters ---- */

static __attribute__((noinline)) void count_first(unsigned what, uint64_t usable)
{
	struct thread *t = thread_state();

	if (!t) {
		atomic_fetch_add_explicit(&orphans[what], 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&orphans[what + 1], usable,
					  memory_order_relaxed);
		return;
	}
	t->heap[what]++;
	t->heap[what + 1] += usable;
}

/* Single instructions: a signal handler may come between them. */
static inline void count(unsigned what, uint64_t usable)
{
	struct thread *t = thread_mine;

	if (__builtin_expect(!t, 0)) {
		count_first(what, usable);
		return;
	}
	t->heap[what]++;
	t->heap[what + 1] += usable;
}

void heap_count(unsigned what, size_t usable)
{
	count(what, usable);
}

void *heap_malloc_counted(size_t size)
{
	void *p = heap_real.malloc(size);

	if (__builtin_expect(p != NULL, 1))
		count(COUNT_ALLOCS, usable_of(p));
	return p;
}

void heap_free_counted(void *p)
{
	count(COUNT_FREES, usable_of(p));
	heap_real.free(p);
}

void heap_sum(uint64_t sum[THREAD_HEAP])
{
	thread_sum(sum);
	for (unsigned i = 0; i < THREAD_HEAP; i++)
		sum[i] += atomic_load_explicit(&orphans[i], memory_order_relaxed);
}

void heap_sum_forget(void)
{
	for (unsigned i = 0; i < THREAD_HEAP; i++)
		atomic_store(&orphans[i], 0);
}
