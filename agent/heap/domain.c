/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of both domains. Each domain has functions of its own, so that none needs
 * its context: a caller that read the pointer to the function before it was exchanged,
 * and the context after that, hands over another's.
 */
#include "agent/heap/domain.h"
#include "agent/heap/record.h"

#define LONG_WAY __attribute__((noinline))

struct allocator heap_domain_next[HEAP_DOMAINS];

static inline enum heap_call call_of(const struct allocator *next)
{
	return next == &heap_domain_next[HEAP_DOMAIN_MEM] ? HEAP_PYMEM : HEAP_PYOBJECT;
}

/* Nothing is larger than any block of a pool: malloc gives a block for it. */
static inline bool is_small(size_t size)
{
	return size - 1 < HEAP_DOMAIN_SMALL;
}

/* Is nothing to be recorded? */
static inline bool passes_on(enum heap_mode mode)
{
	return mode != HEAP_ALL && mode != HEAP_SAMPLE;
}

/* ---- what is recorded; `next` stands for the domain ---- */

static LONG_WAY void *make_recorded(const struct allocator *next, size_t size)
{
	void *p = next->malloc(next->context, size);

	heap_object_made(HEAP_FRAME, call_of(next), p, size);
	return p;
}

static LONG_WAY void *clear_recorded(const struct allocator *next, size_t count,
				     size_t size)
{
	void *p = next->calloc(next->context, count, size);

	heap_object_made(HEAP_FRAME, call_of(next), p, count * size);
	return p;
}

static LONG_WAY void *move_recorded(const struct allocator *next, void *old, size_t size)
{
	void *p;

	heap_object_moves();
	p = next->realloc(next->context, old, size);
	if (heap_object_moved(HEAP_FRAME, call_of(next), old, p) && is_small(size))
		heap_object_made(HEAP_FRAME, call_of(next), p, size);
	return p;
}

static LONG_WAY void free_recorded(const struct allocator *next, void *p)
{
	if (heap_gone(HEAP_FRAME, call_of(next), p))
		heap_leave();
	next->free(next->context, p);
}

/* ---- what they are called by ---- */

/* Most allocations of HEAP_SAMPLE only shorten the way to the next sample. */
static inline void *make_object(const struct allocator *next, size_t size)
{
	enum heap_mode mode = heap_mode();

	if (!is_small(size) || passes_on(mode))
		return next->malloc(next->context, size);
	if (mode == HEAP_ALL || guard_word || size > heap_gap.left)
		return make_recorded(next, size);
	heap_gap.left -= size;
	return next->malloc(next->context, size);
}

static inline void *clear_object(const struct allocator *next, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || !is_small(bytes) ||
	    passes_on(heap_mode()))
		return next->calloc(next->context, count, size);
	return clear_recorded(next, count, size);
}

static inline void *move_object(const struct allocator *next, void *old, size_t size)
{
	if (passes_on(heap_mode()))
		return next->realloc(next->context, old, size);
	return move_recorded(next, old, size);
}

static inline void free_object(const struct allocator *next, void *p)
{
	enum heap_mode mode = heap_mode();

	if (!p || passes_on(mode) || (mode == HEAP_SAMPLE && !heap_maybe_sampled(p)))
		next->free(next->context, p);
	else
		free_recorded(next, p);
}

#define DOMAIN(name, number)                                                 \
	static void *name##_malloc(void *context, size_t size)               \
	{                                                                    \
		(void)context;                                               \
		return make_object(&heap_domain_next[number], size);         \
	}                                                                    \
	static void *name##_calloc(void *context, size_t count, size_t size) \
	{                                                                    \
		(void)context;                                               \
		return clear_object(&heap_domain_next[number], count, size); \
	}                                                                    \
	static void *name##_realloc(void *context, void *old, size_t size)   \
	{                                                                    \
		(void)context;                                               \
		return move_object(&heap_domain_next[number], old, size);    \
	}                                                                    \
	static void name##_free(void *context, void *p)                      \
	{                                                                    \
		(void)context;                                               \
		free_object(&heap_domain_next[number], p);                   \
	}

DOMAIN(mem, HEAP_DOMAIN_MEM)
DOMAIN(object, HEAP_DOMAIN_OBJECT)

const struct allocator heap_domain_ours[HEAP_DOMAINS] = {
	[HEAP_DOMAIN_MEM] = { NULL, mem_malloc, mem_calloc, mem_realloc, mem_free },
	[HEAP_DOMAIN_OBJECT] = { NULL, object_malloc, object_calloc, object_realloc,
				 object_free },
};
