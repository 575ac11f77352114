/* SPDX-License-Identifier: Apache-2.0 */
/* Which step a moment lies in. */
#include "base/search.h"
#include "writer/heap/account.h"
#include "writer/sort.h"

#include <errno.h>

static bool ends_before(const void *left, const void *right)
{
	const struct heap_step *a = left, *b = right;

	return a->end != b->end ? a->end < b->end : a->begin < b->begin;
}

/* Steps as the file shows them (events.c): where the program's own profiler has steps,
 * those. A step without an end is left out: what is live in it is still in use. */
int heap_steps_find(struct trace *t)
{
	const struct step *s = t->cycle.steps.mem;
	struct heap *h = t->heap;
	struct heap_step one, *step;
	int err;

	for (size_t i = 0; i < t->cycle.steps.n; i++) {
		if (!s[i].end || s[i].end > t->cycle.end || s[i].end < s[i].begin ||
		    s[i].begin >= t->cycle.end)
			continue;
		if (!s[i].own && read_own_step(&t->cycle, s[i].begin, s[i].end))
			continue;
		one = (struct heap_step){ s[i].number, s[i].begin, s[i].end, 0 };
		if (pile_add(&h->steps, &one, sizeof(one)))
			return -ENOMEM;
	}
	step = h->steps.mem;
	err = sort_merge(step, h->steps.n, sizeof(*step), ends_before);
	if (!err && h->steps.n > HEAP_STEPS) {
		memmove(step, step + h->steps.n - HEAP_STEPS, HEAP_STEPS * sizeof(*step));
		h->steps.n = HEAP_STEPS;
	}
	return err;
}

const struct heap_step *heap_step_at(const struct heap *h, uint64_t ticks)
{
	const struct heap_step *s = h->steps.mem;
	size_t at = SEARCH_FIRST(i, 0, h->steps.n, s[i].end > ticks);

	return at < h->steps.n && s[at].begin <= ticks ? &s[at] : NULL;
}
