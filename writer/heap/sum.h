/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sum - allocations, bytes, and the bytes still live, by call site.
 *
 * A site is a native call stack, Python's, an operator and a function of the allocator.
 *
 * Threads  one at a time.
 * Memory   96 bytes for each site up to HEAP_KEPT, 24 for each step in which a site
 *          changed, 16 MiB for the index.
 * Errors   0 or -ENOMEM.
 * Units    bytes; ticks; counts in 1 / HEAP_ONE, as a sampled block stands for many.
 */
#ifndef WRITER_HEAP_SUM_H
#define WRITER_HEAP_SUM_H

#include "agent/core/record_heap.h"
#include "agent/core/stack_pair.h"
#include "writer/heap/merge.h"

#define HEAP_KEPT    (1u << 21) /* sites kept apart */
#define HEAP_LARGEST 1000 /* allocations shown on their threads' rows ... */
#define HEAP_TOP     100 /* ... besides the largest of as many sites */
#define HEAP_ONE     (1ull << 20)
#define HEAP_MOST    (1ull << 47) /* bytes of a block; a larger one is damage */

struct heap_sums {
	uint64_t allocs, frees; /* in 1 / HEAP_ONE */
	uint64_t bytes, freed;
};

static inline int64_t heap_live(const struct heap_sums *s)
{
	return (int64_t)(s->bytes - s->freed);
}

struct heap_site {
	struct heap_sums sums;
	int64_t peak; /* live at the heap's peak number peak_of */
	uint64_t max, max_ticks; /* largest block, and when */
	uint32_t max_at, max_tid; /* its record, offset / 8; its thread's id */
	uint32_t stack, python; /* native, and Python's */
	uint32_t op;
	uint32_t peak_of;
	uint32_t until; /* steps whose live bytes are in `held` */
	uint32_t held; /* newest struct heap_held, + 1 */
	uint8_t call; /* enum heap_call */
};

struct heap_held { /* live bytes of a site at the ends of steps [from, until) */
	int64_t live;
	uint32_t from, until;
	uint32_t before; /* the held before it, + 1 */
	uint32_t spare;
};

struct heap_large {
	uint64_t bytes;
	uint64_t ticks;
	uint32_t at; /* offset of its record / 8 */
	uint32_t op, tid;
	uint32_t stack, python, site;
};

/* The allocation whose record's offset / 8 is `at`. */
static inline const struct rec_alloc *heap_record_at(const struct trace *t, uint32_t at)
{
	return (const struct rec_alloc *)(t->view->base + (uint64_t)at * 8);
}

static inline struct stack_pair site_stacks(const struct heap_site *s)
{
	return (struct stack_pair){ s->stack, s->python };
}

static inline struct stack_pair large_stacks(const struct heap_large *l)
{
	return (struct stack_pair){ l->stack, l->python };
}

struct heap;

int heap_sum_start(struct trace *t);
/* Gives back the memory that only the summing needs. */
void heap_sum_unmap(struct heap *h);
/* Takes the lane's next record, a REC_ALLOC or a REC_FREE. */
int heap_sum_alloc(struct trace *t, struct heap_lane *l);
int heap_sum_free(struct trace *t, const struct heap_lane *l);
/* Ends the steps that end at `ticks` or before. */
void heap_sum_until(struct heap *h, uint64_t ticks);
/* Ends all steps; to be called after the last record. */
int heap_sum_end(struct heap *h);
/* Fills h->row with a site's live bytes at the end of each step. */
void heap_sum_steps(struct heap *h, const struct heap_site *s);

#endif
