/* SPDX-License-Identifier: Apache-2.0 */
/* What each thread has allocated and freed, in usable bytes: malloc = count. */
#include "agent/heap/count.h"
#include "agent/core/counters.h"
#include "agent/heap/mode.h"

/* What threads without a slot have counted, all together: those after their end, and
 * those that found no room in the spool. */
static _Atomic uint64_t orphans[SPOOL_COUNTERS];

/* ---- a block's size ---- */

/*
 * glibc writes the size, with three flags, into the word before the block, and to read it
 * there costs half of what malloc_usable_size does. Nobody promises that word, so it is
 * believed only after TRIALS blocks of this very process had the size there that
 * malloc_usable_size said.
 */
#define TRIALS 256
enum { ASK, TRY, READ }; /* where a block's size comes from */
enum { MAPPED = 2, FLAGS = 7, WORD = sizeof(size_t) };

static _Atomic uint32_t sizes = ASK, trials;

void heap_sizes_try(void)
{
	atomic_store_explicit(&trials, 0, memory_order_relaxed);
	atomic_store_explicit(&sizes, TRY, memory_order_relaxed);
}

static inline size_t size_word(const void *p)
{
	return ((const size_t *)p)[-1];
}

static __attribute__((noinline)) size_t ask_size(void *p)
{
	size_t usable = heap_real.malloc_usable_size(p), word;

	if (atomic_load_explicit(&sizes, memory_order_relaxed) != TRY)
		return usable;
	word = size_word(p);
	if (!(word & MAPPED) && (word & ~(size_t)FLAGS) - WORD != usable)
		atomic_store_explicit(&sizes, ASK, memory_order_relaxed);
	else if (atomic_fetch_add_explicit(&trials, 1, memory_order_relaxed) == TRIALS)
		atomic_store_explicit(&sizes, READ, memory_order_relaxed);
	return usable;
}

/* 0: the size must be asked for. (No block has a size of 0.) */
static inline size_t read_size(const void *p)
{
	size_t word;

	if (atomic_load_explicit(&sizes, memory_order_relaxed) != READ)
		return 0;
	word = size_word(p);
	return word & MAPPED ? 0 : (word & ~(size_t)FLAGS) - WORD;
}

size_t heap_usable(void *p)
{
	size_t usable = read_size(p);

	return usable ? usable : ask_size(p);
}

/* ---- counters ---- */

/* Each addition is one instruction: a signal handler that counts on this thread as well
 * may come between two of them, but not within one. */
static inline void count_block(struct spool_counters *c, unsigned what, uint64_t usable)
{
	__asm__("incq %0" : "+m"(c->sum[what]));
	__asm__("addq %1, %0" : "+m"(c->sum[what + 1]) : "r"(usable));
}

static struct spool_counters *get_thread_counters(void)
{
	struct thread *t = thread_mine ? thread_mine : thread_state();

	if (t && !t->counters)
		t->counters = counters_take();
	return t ? t->counters : NULL;
}

__attribute__((noinline)) void heap_count(unsigned what, size_t usable)
{
	struct spool_counters *c = get_thread_counters();

	if (c) {
		count_block(c, what, usable);
		return;
	}
	atomic_fetch_add_explicit(&orphans[what], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&orphans[what + 1], usable, memory_order_relaxed);
}

/* The slow way: the thread has no counters yet, or the block's size cannot be read in
 * front of it: a mapped block, or another allocator's. */
static __attribute__((noinline)) void *count_made(void *p)
{
	if (p)
		heap_count(COUNT_ALLOCS, heap_usable(p));
	return p;
}

static __attribute__((noinline)) void count_and_free(void *p)
{
	heap_count(COUNT_FREES, heap_usable(p));
	heap_real.free(p);
}

void *heap_malloc_counted(size_t size)
{
	void *p = heap_real.malloc(size);
	struct thread *t = thread_mine;
	struct spool_counters *c = t ? t->counters : NULL;
	size_t usable = c && p ? read_size(p) : 0;

	if (__builtin_expect(!usable, 0))
		return count_made(p);
	count_block(c, COUNT_ALLOCS, usable);
	return p;
}

void heap_free_counted(void *p)
{
	struct thread *t = thread_mine;
	struct spool_counters *c = t ? t->counters : NULL;
	size_t usable = c ? read_size(p) : 0;

	if (__builtin_expect(!usable, 0)) {
		count_and_free(p);
		return;
	}
	count_block(c, COUNT_FREES, usable);
	heap_real.free(p);
}

void heap_sum(uint64_t sum[SPOOL_COUNTERS])
{
	counters_sum(sum);
	for (unsigned i = 0; i < SPOOL_COUNTERS; i++)
		sum[i] += atomic_load_explicit(&orphans[i], memory_order_relaxed);
}

void heap_sum_forget(void)
{
	for (unsigned i = 0; i < SPOOL_COUNTERS; i++)
		atomic_store(&orphans[i], 0);
}
