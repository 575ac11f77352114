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

/* 0: it must be asked for. (No block has a size of 0.) */
static inline size_t read_size(const void *p)
{
	size_t word;

	if (atomic_load_explicit(&sizes, memory_order_relaxed) != READ)
		return 0;
	word = written(p);
	return word & MAPPED ? 0 : (word & ~(size_t)FLAGS) - WORD;
}

size_t heap_usable(void *p)
{
	size_t usable = read_size(p);

	return usable ? usable : ask(p);
}

/* ---- counters ---- */

/* By single instructions: a signal handler that counts as well may come between them. */
static inline void add(struct thread *t, unsigned what, uint64_t usable)
{
	__asm__("incq %0" : "+m"(t->heap[what]));
	__asm__("addq %1, %0" : "+m"(t->heap[what + 1]) : "r"(usable));
}

__attribute__((noinline)) void heap_count(unsigned what, size_t usable)
{
	struct thread *t = thread_mine;

	if (!t)
		t = thread_state();
	if (t) {
		add(t, what, usable);
		return;
	}
	atomic_fetch_add_explicit(&orphans[what], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&orphans[what + 1], usable, memory_order_relaxed);
}

/* A thread's first block, a mapped one, another allocator's. */
static __attribute__((noinline)) void *made(void *p)
{
	if (p)
		heap_count(COUNT_ALLOCS, heap_usable(p));
	return p;
}

static __attribute__((noinline)) void gone(void *p)
{
	heap_count(COUNT_FREES, heap_usable(p));
	heap_real.free(p);
}

void *heap_malloc_counted(size_t size)
{
	void *p = heap_real.malloc(size);
	struct thread *t = thread_mine;
	size_t usable = t && p ? read_size(p) : 0;

	if (__builtin_expect(!usable, 0))
		return made(p);
	add(t, COUNT_ALLOCS, usable);
	return p;
}

void heap_free_counted(void *p)
{
	struct thread *t = thread_mine;
	size_t usable = t ? read_size(p) : 0;

	if (__builtin_expect(!usable, 0)) {
		gone(p);
		return;
	}
	add(t, COUNT_FREES, usable);
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
