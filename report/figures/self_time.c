/* SPDX-License-Identifier: Apache-2.0 */
/* Takes each slice's time from the slice around it. Sums stay at their ends: a hostile
 * file has times of any size. */
#include "report/figures/self_time.h"
#include "report/figures/event_tree.h"
#include "report/figures/launched.h"
#include "report/figures/sum.h"

#include <stdlib.h>

int64_t *self_time_make(const struct model *m)
{
	int64_t *self = calloc(m->slices_n + 1, sizeof(*self));

	for (size_t i = 0; self && i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i], *around;

		if (s->kind == SLICE_DEVICE)
			continue;
		self[i] = s->end - s->begin;
		if (s->parent == NO_ROW)
			continue;
		/* The model lets a slice stand out a little: that part is its own. */
		around = &m->slices[s->parent];
		sum_take(&self[s->parent],
			 (s->end < around->end ? s->end : around->end) - s->begin);
	}
	return self;
}

/* ---- torch's ---- */

static void take_times(struct self_time *t, const struct model *m,
		       const struct event_tree *tree, const struct launched *launched)
{
	for (uint32_t i = 0; i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i];

		t->event[i] = tree->event[i];
		if (!t->event[i])
			continue;
		if (launched->ns)
			t->device[i] = launched->ns[tree->launcher[i]];
		sum_add(&t->cpu[i], s->end - s->begin);
		if (tree->parent[i] != NO_ROW)
			sum_take(&t->cpu[tree->parent[i]], s->end - s->begin);
	}
}

bool self_time_torch(struct self_time *t, const struct model *m)
{
	size_t room = m->slices_n + 1;
	struct event_tree tree = { 0 };
	struct launched launched = { 0 };
	bool fine;

	*t = (struct self_time){ calloc(room, sizeof(*t->cpu)),
				 calloc(room, sizeof(*t->device)),
				 calloc(room, sizeof(*t->event)) };
	fine = t->cpu && t->device && t->event && event_tree_make(&tree, m) &&
	       launched_make(&launched, m);
	if (fine)
		take_times(t, m, &tree, &launched);
	else
		self_time_free(t);
	event_tree_free(&tree);
	launched_free(&launched);
	return fine;
}

void self_time_free(struct self_time *t)
{
	free(t->cpu);
	free(t->device);
	free(t->event);
	*t = (struct self_time){ 0 };
}
