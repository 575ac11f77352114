/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One id for equal stacks. A stack is a frame and a caller, so two are equal if their
 * frames and flags are and their callers stand for the same: each is looked at once, from
 * the outermost frame inwards.
 */
#include "writer/heap/same.h"
#include "writer/pile.h"

#include <errno.h>

#define SLOTS_FIRST 4096 /* a power of two */
#define ID_STEP     (sizeof(struct stack) / 8) /* ids that a stack takes */

static const volatile struct stack *stack_of(const struct same *s, uint32_t id)
{
	return stacks_at(s->view, id); /* may change */
}

/* The slot of a stack like this one, or the empty one where it belongs. Marks of frames
 * are flags: with others a stack is merged in another way. */
static struct same_slot *slot_of(const struct same *s, uint32_t stack, uint32_t caller)
{
	uint64_t frame = stack_of(s, stack)->frame;
	unsigned flags = stack_of(s, stack)->flags;
	uint64_t h = (frame ^ (uint64_t)caller << 40) * 0xff51afd7ed558ccdull ^ caller;
	struct same_slot *slot;

	h = (h ^ h >> 32) * 0xff51afd7ed558ccdull;
	for (size_t i = (h ^ h >> 32) & (s->slots - 1);; i = (i + 1) & (s->slots - 1)) {
		slot = &s->slot[i];
		if (!slot->stack ||
		    (slot->caller == caller && stack_of(s, slot->stack)->frame == frame &&
		     stack_of(s, slot->stack)->flags == flags))
			return slot;
	}
}

static int grow_slots(struct same *s)
{
	struct same more = *s;

	more.slots = s->slots ? 2 * s->slots : SLOTS_FIRST;
	more.slot = pile_map(more.slots * sizeof(*more.slot));
	if (!more.slot)
		return -ENOMEM;
	for (size_t i = 0; i < s->slots; i++)
		if (s->slot[i].stack)
			*slot_of(&more, s->slot[i].stack, s->slot[i].caller) = s->slot[i];
	pile_unmap(s->slot, s->slots * sizeof(*s->slot));
	*s = more;
	return 0;
}

/* The first stack with the frame of `stack` whose caller stands for the same. */
static uint32_t first_like(struct same *s, uint32_t stack, uint32_t caller)
{
	struct same_slot *slot;

	if (s->n >= s->slots / 2 && grow_slots(s))
		return stack;
	slot = slot_of(s, stack, caller);
	if (!slot->stack) {
		*slot = (struct same_slot){ stack, caller };
		s->n++;
	}
	return slot->stack;
}

/* As stacks_get: each caller must have one frame less. */
uint32_t same_first(struct same *s, uint32_t stack)
{
	uint32_t path[STACKS_MOST], id = stack;
	unsigned n = 0, left;

	for (left = stacks_depth(s->view, stack); left; left--) {
		const volatile struct stack *of = stack_of(s, id);

		if (!of || of->depth != left || n == STACKS_MOST)
			return stack;
		if (s->first[id / ID_STEP])
			break;
		path[n++] = id;
		id = of->caller;
	}
	if (!left && !n)
		return stack;
	id = left ? s->first[id / ID_STEP] : 0;
	while (n--)
		id = s->first[path[n] / ID_STEP] = first_like(s, path[n], id);
	return id;
}

int same_start(struct same *s, const struct spool_view *v)
{
	*s = (struct same){ .view = v, .bytes = v->size / sizeof(struct stack) * 4 };
	s->first = pile_map(s->bytes);
	return s->first ? 0 : -ENOMEM;
}

void same_end(struct same *s)
{
	pile_unmap(s->slot, s->slots * sizeof(*s->slot));
	if (s->first)
		pile_unmap(s->first, s->bytes);
	*s = (struct same){ 0 };
}
