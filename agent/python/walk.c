/* SPDX-License-Identifier: Apache-2.0 */
/* The walk itself, once for each way in which a frame says where it is. */
#include "agent/python/walk.h"

/* `kind` and `helpers` are constants where this is inlined. What C has called is marked:
 * to 3.10 that is each frame; then those that say so, `entry` being 1; since 3.12 those
 * that a helper called. */
static inline __attribute__((always_inline)) void walk_kind(struct walk *w, const void *f,
							    enum python_kind kind,
							    bool helpers, unsigned entry)
{
	const struct python_layout l =
		*interpreter.layout; /* nothing stored changes it */
	unsigned n = 0;

	for (unsigned steps = 0; f && steps < WALK_STEPS;
	     steps++, f = layout_at(f, l.caller)) {
		if (helpers && walk_owner(&l, f) >= l.helper) {
			if (n)
				w->where[n - 1] |= WALK_ENTRY;
			continue;
		}
		if (n == STACKS_MOST)
			break;
		w->frame[n] = f;
		if (kind == PYTHON_INDEX) {
			w->where[n] = (uintptr_t)layout_at(f, l.code) | WALK_ENTRY;
			w->index[n] = layout_word(f, l.where);
		} else {
			w->where[n] =
				(uintptr_t)layout_at(f, l.where) |
				(helpers ? 0 : ((const uint8_t *)f)[l.entry] & entry);
			w->index[n] = 0;
		}
		n++;
	}
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
