/* SPDX-License-Identifier: Apache-2.0 */
/* Takes each slice's time from the slice around it. Sums stay at their ends: a hostile
 * file has times of any size. */
#include "report/figures/self_time.h"
#include "base/text.h"
#include "report/figures/launches.h"

#include <stdlib.h>

static void take_time(int64_t *from, int64_t time)
{
	if (__builtin_sub_overflow(*from, time, from))
		*from = INT64_MIN;
}

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
		take_time(&self[s->parent],
			  (s->end < around->end ? s->end : around->end) - s->begin);
	}
	return self;
}

/* ---- torch's ---- */

struct nest {
	const struct model *m;
	struct self_time *t;
	uint32_t *parent, *children; /* children: how many */
};

/* Operators that torch makes no events of (profiler_util.py, _filter_name). */
static bool is_left_out(const char *name)
{
	static const char *const names[] = { "profiler::_record_function_enter",
					     "profiler::_record_function_enter_new",
					     "profiler::_record_function_exit",
					     "aten::is_leaf",
					     "aten::output_nr",
					     "aten::_version",
					     NULL };

	return text_is_in(name, names);
}

/* The innermost of the slices that are open which [begin, end] lies in. */
static uint32_t strictly_around(const struct nest *n, uint32_t top, const struct slice *s)
{
	const struct slice *slices = n->m->slices;

	while (top != NO_ROW && (slices[top].thread != s->thread ||
				 s->begin >= slices[top].end || s->end > slices[top].end))
		top = n->parent[top];
	return top;
}

static void nest_slices(struct nest *n)
{
	uint32_t top = NO_ROW;

	for (uint32_t i = 0; i < n->m->slices_n; i++) {
		const struct slice *s = &n->m->slices[i];

		n->parent[i] = NO_ROW;
		n->t->event[i] =
			s->kind != SLICE_DEVICE && !is_left_out(slice_name(n->m, i));
		if (!n->t->event[i])
			continue;
		n->parent[i] = strictly_around(n, top, s);
		if (n->parent[i] != NO_ROW)
			n->children[n->parent[i]]++;
		top = i;
	}
}

/* Removes an only child with its parent's name; the parent gets the child's children, and
 * the child's kernels in place of its own. */
static void remove_twins(struct nest *n)
{
	const struct model *m = n->m;
	struct self_time *t = n->t;

	for (uint32_t i = 0; i < m->slices_n; i++) {
		uint32_t parent = n->parent[i];

		if (!t->event[i] || parent == NO_ROW)
			continue;
		if (!t->event[parent])
			parent = n->parent[i] = n->parent[parent];
		if (m->slices[i].name != m->slices[parent].name ||
		    n->children[parent] != 1)
			continue;
		t->event[i] = false;
		n->children[parent] = n->children[i];
		t->device[parent] = t->device[i];
	}
}

static void take_times(const struct nest *n)
{
	const struct model *m = n->m;

	for (uint32_t i = 0; i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i];

		if (!n->t->event[i])
			continue;
		n->t->cpu[i] = s->end - s->begin;
		if (n->parent[i] != NO_ROW)
			take_time(&n->t->cpu[n->parent[i]], s->end - s->begin);
	}
}

static bool launched_times(const struct model *m, int64_t *device)
{
	struct launches all;

	if (!launches_make(&all, m))
		return false;
	for (uint32_t i = 0; i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i];
		uint32_t op = s->kind == SLICE_DEVICE ? launches_op(&all, s) : NO_ROW;

		if (op != NO_ROW &&
		    __builtin_add_overflow(device[op], s->end - s->begin, &device[op]))
			device[op] = INT64_MAX;
	}
	launches_free(&all);
	return true;
}

bool self_time_torch(struct self_time *t, const struct model *m)
{
	size_t room = m->slices_n + 1;
	struct nest n = { m, t, malloc(room * sizeof(*n.parent)),
			  calloc(room, sizeof(*n.children)) };
	bool fine;

	*t = (struct self_time){ calloc(room, sizeof(*t->cpu)),
				 calloc(room, sizeof(*t->device)),
				 calloc(room, sizeof(*t->event)) };
	fine = n.parent && n.children && t->cpu && t->device && t->event &&
	       launched_times(m, t->device);
	if (fine) {
		nest_slices(&n);
		remove_twins(&n);
		take_times(&n);
	} else {
		self_time_free(t);
	}
	free(n.parent);
	free(n.children);
	return fine;
}

void self_time_free(struct self_time *t)
{
	free(t->cpu);
	free(t->device);
	free(t->event);
	*t = (struct self_time){ 0 };
}
