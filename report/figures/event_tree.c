/* SPDX-License-Identifier: Apache-2.0 */
/* Nests host slices as torch's profiler_util.py does (_populate_cpu_children and
 * _remove_dup_nodes), in one pass over slices that are in order. */
#include "report/figures/event_tree.h"
#include "base/text.h"

#include <stdlib.h>

#define LEFT_OUT 8

struct nest {
	const struct model *m;
	struct event_tree *t;
	uint32_t *children; /* how many */
	uint32_t left_out[LEFT_OUT]; /* names' numbers */
};

/* What torch makes no events of (_filter_name). */
static const char *const names_left_out[LEFT_OUT + 1] = {
	"profiler::_record_function_enter",
	"profiler::_record_function_enter_new",
	"profiler::_record_function_exit",
	"aten::is_leaf",
	"aten::output_nr",
	"aten::_version",
	"[memory]",
	"[OutOfMemory]",
	NULL
};

bool event_tree_is_work(const struct model *m, uint32_t slice)
{
	unsigned kind = m->slices[slice].kind;

	return (kind == SLICE_DEVICE || kind == SLICE_DEVICE_NOTE) &&
	       !text_is_in(slice_name(m, slice), names_left_out);
}

static void find_left_out(struct nest *n)
{
	for (unsigned i = 0; i < LEFT_OUT; i++)
		n->left_out[i] = texts_find(&n->m->texts, names_left_out[i]);
}

static bool is_event(const struct nest *n, const struct slice *s)
{
	if (!(EVENT_KINDS & WANT(s->kind)))
		return false;
	for (unsigned i = 0; i < LEFT_OUT; i++)
		if (n->left_out[i] == s->name)
			return false;
	return true;
}

/* The innermost of the slices that are open which [begin, end] lies in. */
static uint32_t strictly_around(const struct nest *n, uint32_t top, const struct slice *s)
{
	const struct slice *slices = n->m->slices;

	while (top != NO_ROW && (slices[top].thread != s->thread ||
				 s->begin >= slices[top].end || s->end > slices[top].end))
		top = n->t->parent[top];
	return top;
}

static void nest_slices(struct nest *n)
{
	struct event_tree *t = n->t;
	uint32_t top = NO_ROW;

	for (uint32_t i = 0; i < n->m->slices_n; i++) {
		const struct slice *s = &n->m->slices[i];

		t->parent[i] = NO_ROW;
		t->launcher[i] = i;
		t->event[i] = is_event(n, s);
		if (!t->event[i])
			continue;
		t->parent[i] = strictly_around(n, top, s);
		if (t->parent[i] != NO_ROW)
			n->children[t->parent[i]]++;
		top = i;
	}
}

static bool is_same_name(const struct model *m, uint32_t a, uint32_t b)
{
	return m->slices[a].name == m->slices[b].name ||
	       (event_is_step(slice_name(m, a)) && event_is_step(slice_name(m, b)));
}

static void remove_twins(struct nest *n)
{
	struct event_tree *t = n->t;

	for (uint32_t i = 0; i < n->m->slices_n; i++) {
		uint32_t parent = t->parent[i];

		if (!t->event[i] || parent == NO_ROW)
			continue;
		if (!t->event[parent])
			parent = t->parent[i] = t->parent[parent];
		if (n->children[parent] != 1 || !is_same_name(n->m, i, parent))
			continue;
		t->event[i] = false;
		n->children[parent] = n->children[i];
		t->launcher[parent] = t->launcher[i];
	}
}

bool event_tree_make(struct event_tree *t, const struct model *m)
{
	size_t room = m->slices_n + 1;
	struct nest n = { m, t, calloc(room, sizeof(*n.children)), { 0 } };
	bool fine;

	*t = (struct event_tree){ malloc(room * sizeof(*t->parent)),
				  malloc(room * sizeof(*t->launcher)),
				  malloc(room * sizeof(*t->event)) };
	fine = n.children && t->parent && t->launcher && t->event;
	if (fine) {
		find_left_out(&n);
		nest_slices(&n);
		remove_twins(&n);
	} else {
		event_tree_free(t);
	}
	free(n.children);
	return fine;
}

void event_tree_free(struct event_tree *t)
{
	free(t->parent);
	free(t->launcher);
	free(t->event);
	*t = (struct event_tree){ 0 };
}
