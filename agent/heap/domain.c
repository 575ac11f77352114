/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of each place and domain. Their context is that of what is behind them:
 * ours are put in place function by function, and it stays.
 */
#include "agent/heap/domain.h"
#include "agent/heap/record.h"
#include "agent/heap/watch.h"

#define LONG_WAY __attribute__((noinline))

struct allocator heap_domain_next[HEAP_DOMAIN_PLACES][HEAP_DOMAINS];
void (*heap_domain_idle)(const struct allocator *ours);

/* `next` stands for the place and the domain. */
static inline size_t number_of(const struct allocator *next)
{
	return (size_t)(next - heap_domain_next[0]);
}

static inline enum heap_call call_of(const struct allocator *next)
{
	return number_of(next) % HEAP_DOMAINS == HEAP_DOMAIN_MEM ? HEAP_PYMEM
								 : HEAP_PYOBJECT;
}

/* Nothing is larger than any block of a pool: malloc gives a block for it. */
static inline bool is_small(size_t size)
{
	return size - 1 < HEAP_DOMAIN_SMALL;
}

static inline const struct allocator *ours_of(const struct allocator *next)
{
	return heap_domain_ours[0] + number_of(next);
}

static LONG_WAY void say_idle(const struct allocator *next)
{
	if (heap_domain_idle)
		heap_domain_idle(ours_of(next));
}

/* Is nothing to be recorded? */
static inline bool passes_on(const struct allocator *next, enum heap_mode mode)
{
	if (mode == HEAP_ALL || mode == HEAP_SAMPLE)
		return false;
	say_idle(next);
	return true;
}

/* ---- what is recorded of the interpreter's own ---- */

/* What a tool in front of it asks for is the tool's, which is recorded by the place
 * before that. */
static inline void record_made(uintptr_t frame, const struct allocator *next, void *p,
			       size_t size)
{
	if (!heap_watches(frame))
		heap_object_made(frame, call_of(next), p, size);
}

static LONG_WAY void *make_recorded(const struct allocator *next, void *context,
				    size_t size)
{
	void *p = next->malloc(context, size);

	record_made(HEAP_FRAME, next, p, size);
	return p;
}

static LONG_WAY void *clear_recorded(const struct allocator *next, void *context,
				     size_t count, size_t size)
{
	void *p = next->calloc(context, count, size);

	record_made(HEAP_FRAME, next, p, count * size);
	return p;
}

static LONG_WAY void *move_recorded(const struct allocator *next, void *context,
				    void *old, size_t size)
{
	void *p;

	heap_object_moves();
	p = next->realloc(context, old, size);
	if (heap_object_moved(HEAP_FRAME, call_of(next), old, p) && is_small(size))
		record_made(HEAP_FRAME, next, p, size);
	return p;
}

static LONG_WAY void free_recorded(const struct allocator *next, void *context, void *p)
{
	if (heap_gone(HEAP_FRAME, call_of(next), p))
		heap_leave();
	next->free(context, p);
}

/* ---- what they are called by ---- */

/* Most allocations of HEAP_SAMPLE only shorten the way to the next sample. */
static inline void *make_object(const struct allocator *next, void *context, size_t size)
{
	enum heap_mode mode = heap_mode();

	if (!is_small(size) || passes_on(next, mode))
		return next->malloc(context, size);
	if (mode == HEAP_ALL || guard_word || heap_watch.frame || size > heap_gap.left)
		return make_recorded(next, context, size);
	heap_gap.left -= size;
	return next->malloc(context, size);
}

static inline void *clear_object(const struct allocator *next, void *context,
				 size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || !is_small(bytes) ||
	    passes_on(next, heap_mode()))
		return next->calloc(context, count, size);
	return clear_recorded(next, context, count, size);
}

static inline void *move_object(const struct allocator *next, void *context, void *old,
				size_t size)
{
	if (passes_on(next, heap_mode()))
		return next->realloc(context, old, size);
	return move_recorded(next, context, old, size);
}

static inline bool records_free(const struct allocator *next, const void *p)
{
	enum heap_mode mode = heap_mode();

	return p && !passes_on(next, mode) &&
	       (mode != HEAP_SAMPLE || heap_maybe_sampled(p));
}

static inline void free_object(const struct allocator *next, void *context, void *p)
{
	if (records_free(next, p))
		free_recorded(next, context, p);
	else
		next->free(context, p);
}

/* ---- in front of a tool, of which nothing is known ---- */

/* Debug hooks that are asked for once more look whether they are there. They find ours,
 * take these for what is to be behind them, and would call themselves without end: they
 * are in front of ours now, so that is called which they had there. */
static inline const struct allocator *step_over(const struct allocator *next,
						void **context)
{
	const struct allocator_behind *b = next->context;

	if (__builtin_expect(!b || b->at->malloc != ours_of(next)->malloc, 1))
		return next;
	*context = b->was.context;
	return &b->was;
}

/* False: there is nothing to record, or this is a part of another call, or ours. */
static inline bool begins_watch(uintptr_t frame, const struct allocator *next)
{
	if (passes_on(next, heap_mode()) || heap_watches(frame) ||
	    (guard_word && heap_inside(frame, REC_ALLOC)))
		return false;
	heap_watch_begins(frame);
	return true;
}

static void *make_by_tool(const struct allocator *next, void *context, size_t size)
{
	bool watched = begins_watch(HEAP_FRAME, next);
	const struct allocator *to = step_over(next, &context);
	void *p = to->malloc(context, size);

	if (watched && heap_watch_ends(p) == HEAP_OF_THEIRS)
		heap_object_made(HEAP_FRAME, call_of(next), p, size);
	return p;
}

static void *clear_by_tool(const struct allocator *next, void *context, size_t count,
			   size_t size)
{
	bool watched = begins_watch(HEAP_FRAME, next);
	const struct allocator *to = step_over(next, &context);
	void *p = to->calloc(context, count, size);

	if (watched && heap_watch_ends(p) == HEAP_OF_THEIRS)
		heap_object_made(HEAP_FRAME, call_of(next), p, count * size);
	return p;
}

/* Its lock is held all the time, so that nobody else has the old address meanwhile. */
static void *move_by_tool(const struct allocator *next, void *context, void *old,
			  size_t size)
{
	bool watched = begins_watch(HEAP_FRAME, next);
	const struct allocator *to = step_over(next, &context);
	void *p = to->realloc(context, old, size);
	enum heap_given given = watched ? heap_watch_ends(p) : HEAP_OF_REALLOC;

	if (!p || given == HEAP_OF_REALLOC)
		return p;
	if (old && heap_gone(HEAP_FRAME, call_of(next), old))
		heap_leave();
	if (given == HEAP_OF_THEIRS)
		heap_object_made(HEAP_FRAME, call_of(next), p, size);
	return p;
}

static void free_by_tool(const struct allocator *next, void *context, void *p)
{
	const struct allocator *to = step_over(next, &context);

	if (records_free(next, p) && heap_gone(HEAP_FRAME, call_of(next), p))
		heap_leave();
	to->free(context, p);
}

#define DOMAIN(name, place, number, kind)                                             \
	static void *name##_malloc(void *context, size_t size)                        \
	{                                                                             \
		return make_##kind(&heap_domain_next[place][number], context, size);  \
	}                                                                             \
	static void *name##_calloc(void *context, size_t count, size_t size)          \
	{                                                                             \
		return clear_##kind(&heap_domain_next[place][number], context, count, \
				    size);                                            \
	}                                                                             \
	static void *name##_realloc(void *context, void *old, size_t size)            \
	{                                                                             \
		return move_##kind(&heap_domain_next[place][number], context, old,    \
				   size);                                             \
	}                                                                             \
	static void name##_free(void *context, void *p)                               \
	{                                                                             \
		free_##kind(&heap_domain_next[place][number], context, p);            \
	}

#define PLACE(name, place, kind)                         \
	DOMAIN(name##_mem, place, HEAP_DOMAIN_MEM, kind) \
	DOMAIN(name##_object, place, HEAP_DOMAIN_OBJECT, kind)

PLACE(pools, HEAP_DOMAIN_POOLS, object)
PLACE(tool1, 1, by_tool)
PLACE(tool2, 2, by_tool)
PLACE(tool3, 3, by_tool)
PLACE(tool4, 4, by_tool)
PLACE(tool5, 5, by_tool)

#define FUNCTIONS(name)                                                         \
	{                                                                       \
		NULL, name##_malloc, name##_calloc, name##_realloc, name##_free \
	}
#define BOTH(name)                                              \
	{                                                       \
		FUNCTIONS(name##_mem), FUNCTIONS(name##_object) \
	}

const struct allocator heap_domain_ours[HEAP_DOMAIN_PLACES][HEAP_DOMAINS] = {
	BOTH(pools), BOTH(tool1), BOTH(tool2), BOTH(tool3), BOTH(tool4), BOTH(tool5),
};
