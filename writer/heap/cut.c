/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks that look the same become one: equal ones, and those deeper than the file shows
 * that have the same shown, innermost frames. The agent keeps stacks whole, as they share
 * their callers.
 */
#include "writer/heap/account.h"
#include "writer/heap/same.h"
#include "writer/python/python.h"

#include <errno.h>

#define SLOTS (1u << 17) /* a power of two */
#define MOST  (SLOTS / 4 * 3)
#define CACHE 4096u /* a power of two */

struct heap_cut {
	struct same same;
	struct {
		uint32_t hash, stack; /* 0 = none */
	} slot[SLOTS];
	size_t n;
	struct {
		uint32_t id; /* as records have it */
		struct stack_pair is;
	} cache[CACHE];
	struct stack_frame frame[STACKS_MOST], other[STACKS_MOST];
};

/* As many frames as the file shows. */
static unsigned shown_frames(const struct trace *t, uint32_t stack,
			     struct stack_frame frame[STACKS_MOST])
{
	unsigned flags, most = t->config->stack_depth;

	return stacks_get(t->view, stack, frame, most ? most : STACKS_MOST, &flags);
}

/* Are the frames the same? Different stacks may have the same 32-bit hash. */
static bool has_same_frames(struct trace *t, uint32_t stack, unsigned depth)
{
	struct heap_cut *c = t->heap->cut;
	unsigned i = 0;

	if (shown_frames(t, stack, c->other) != depth)
		return false;
	while (i < depth && c->frame[i].module == c->other[i].module &&
	       c->frame[i].offset == c->other[i].offset)
		i++;
	return i == depth;
}

/* The first stack that came with the same shown frames. */
static uint32_t first_of(struct trace *t, uint32_t stack)
{
	struct heap_cut *c = t->heap->cut;
	unsigned depth = shown_frames(t, stack, c->frame);
	uint64_t h = depth;
	size_t i;

	if (!depth)
		return stack;
	for (unsigned f = 0; f < depth; f++) {
		h = (h ^ c->frame[f].offset ^ (uint64_t)c->frame[f].module << 32) *
		    0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	for (i = h % SLOTS; c->slot[i].stack; i = (i + 1) % SLOTS)
		if (c->slot[i].hash == (uint32_t)(h >> 32) &&
		    has_same_frames(t, c->slot[i].stack, depth))
			return c->slot[i].stack;
	if (c->n < MOST) {
		c->n++;
		c->slot[i].hash = (uint32_t)(h >> 32);
		c->slot[i].stack = stack;
	}
	return stack;
}

static uint32_t cut_stack(struct trace *t, uint32_t stack)
{
	stack = same_first(&t->heap->cut->same, stack);
	return t->config->stack_depth &&
			       stacks_depth(t->view, stack) > t->config->stack_depth
		       ? first_of(t, stack)
		       : stack;
}

/* The cache answers for sites that allocate all the time. Stacks that look the same are
 * of several depths, which nobody can tell afterwards. */
struct stack_pair heap_cut(struct trace *t, uint32_t id)
{
	struct heap_cut *c = t->heap->cut;
	size_t i = id % CACHE;

	if (c->cache[i].id != id) {
		struct stack_pair pair = stack_pair_get(t->view, id);

		python_depth(t, pair);
		c->cache[i].id = id;
		c->cache[i].is = (struct stack_pair){ cut_stack(t, pair.native),
						      cut_stack(t, pair.python) };
	}
	return c->cache[i].is;
}

int heap_cut_start(struct trace *t)
{
	struct heap *h = t->heap;

	h->cut = pile_map(sizeof(*h->cut));
	return h->cut ? same_start(&h->cut->same, t->view) : -ENOMEM;
}

void heap_cut_end(struct heap *h)
{
	if (h->cut)
		same_end(&h->cut->same);
	pile_unmap(h->cut, sizeof(*h->cut));
	h->cut = NULL;
}
