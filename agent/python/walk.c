/* SPDX-License-Identifier: Apache-2.0 */
/* The walk itself, once for each way in which a frame says where it is. */
#include "agent/python/walk.h"

/* A frame that is where the one at its place was is not stored again: most have not
 * moved, and so nobody need compare them with the last stack's either. */
static inline __attribute__((always_inline)) bool put_frame(struct walk *w, unsigned n,
							    uint64_t where, bool indexed,
							    uint32_t index)
{
	bool moved = w->where[n] != where || (indexed && w->index[n] != index);

	if (__builtin_expect(moved, 0)) {
		w->where[n] = where;
		w->index[n] = index;
	}
	return moved;
}

/* Since 3.12 a helper stands where C called Python. */
static inline bool is_helped(const struct python_layout *l, const void *frame)
{
	const void *caller = layout_at(frame, l->caller);

	return caller && walk_is_helper(l, caller);
}

/* `kind` and `helpers` are constants where this is inlined. What C has called is marked:
 * to 3.10 that is each frame; then those that say so, `entry` being 1; since 3.12 those
 * that a helper called. */
static inline __attribute__((always_inline)) void walk_kind(struct walk *w, const void *f,
							    enum python_kind kind,
							    bool helpers, unsigned entry)
{
	const struct python_layout l =
		*interpreter.layout; /* nothing stored changes it */
	unsigned n = 0, moved = 0, before = w->has_id ? w->n : STACKS_MOST + 1;

	for (unsigned steps = 0; f && steps < WALK_STEPS;
	     steps++, f = layout_at(f, l.caller)) {
		uint64_t entered = 0;

		if (helpers && walk_owner(&l, f) >= l.helper)
			continue;
		if (n == STACKS_MOST)
			break;
		w->frame[n] = f;
		if (kind == PYTHON_INDEX) {
			if (put_frame(w, n, (uintptr_t)layout_at(f, l.code) | WALK_ENTRY,
				      true, layout_word(f, l.where)))
				moved = n + 1;
		} else {
			if (helpers)
				entered = is_helped(&l, f);
			else
				entered = ((const uint8_t *)f)[l.entry] & entry;
			if (put_frame(w, n, (uintptr_t)layout_at(f, l.where) | entered,
				      false, 0))
				moved = n + 1;
		}
		n++;
	}
	w->moved = n == before ? moved : STACKS_MOST;
	w->has_id = false;
	w->n = n;
	w->cut = f != NULL;
}

void walk_frames(struct walk *w, const void *innermost)
{
	if (interpreter.layout->kind == PYTHON_INDEX)
		walk_kind(w, innermost, PYTHON_INDEX, false, 0);
	else if (interpreter.layout->helper)
		walk_kind(w, innermost, PYTHON_POINTER, true, 0);
	else
		walk_kind(w, innermost, PYTHON_POINTER, false, interpreter.entries);
}
