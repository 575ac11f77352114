/* SPDX-License-Identifier: Apache-2.0 */
/* The walk itself, once for each way in which a frame says where it is. */
#include "agent/python/walk.h"

/* `kind` and `helpers` are constants where this is inlined. */
static inline __attribute__((always_inline)) void walk_kind(struct walk *w, const void *f,
							    enum python_kind kind,
							    bool helpers)
{
	const struct python_layout l =
		*interpreter.layout; /* nothing stored changes it */
	unsigned n = 0;

	for (unsigned steps = 0; f && steps < WALK_STEPS;
	     steps++, f = layout_at(f, l.caller)) {
		if (helpers && walk_owner(&l, f) >= l.helper)
			continue;
		if (n == STACKS_MOST)
			break;
		w->frame[n] = f;
		if (kind == PYTHON_INDEX) {
			w->where[n] = (uintptr_t)layout_at(f, l.code);
			w->index[n] = layout_word(f, l.where);
		} else {
			w->where[n] = (uintptr_t)layout_at(f, l.where);
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
		walk_kind(w, innermost, PYTHON_INDEX, false);
	else if (interpreter.layout->helper)
		walk_kind(w, innermost, PYTHON_POINTER, true);
	else
		walk_kind(w, innermost, PYTHON_POINTER, false);
}
