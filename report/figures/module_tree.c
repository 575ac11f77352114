/* SPDX-License-Identifier: Apache-2.0 */
/* Nests slices as the plugin's op_tree.py does, in one pass over slices that are in
 * order; times are then added from the innermost on. */
#include "report/figures/module_tree.h"
#include "base/text.h"
#include "report/figures/launches.h"
#include "report/figures/steps.h"
#include "report/figures/sum.h"

#include <stdlib.h>

bool module_tree_is_module(const struct model *m, uint32_t slice)
{
	return m->slices[slice].kind == SLICE_PYTHON &&
	       text_starts_with(slice_name(m, slice), MODULE_PREFIX);
}

bool module_tree_is_operator(const struct model *m, uint32_t slice)
{
	static const char *const others[] = { "DataParallel.forward",
					      "DistributedDataParallel.forward", NULL };

	return m->slices[slice].kind == SLICE_OP &&
	       !text_is_in(slice_name(m, slice), others);
}

/* The plugin makes nodes of these annotations alone. */
static bool is_note_with_a_place(const char *name)
{
	return text_starts_with(name, "ProfilerStep#") ||
	       text_starts_with(name, "Optimizer.") ||
	       text_starts_with(name, "enumerate(Data") || steps_is_collective(name);
}

/* Functions of Python that are no modules are passed over: what is inside of them is
 * inside of what they are in. */
static bool is_node(const struct model *m, uint32_t slice)
{
	switch (m->slices[slice].kind) {
	case SLICE_OP:
		return true;
	case SLICE_NOTE:
		return is_note_with_a_place(slice_name(m, slice));
	default:
		return module_tree_is_module(m, slice);
	}
}

/* Nests nodes, and counts the children of each. */
static void nest_nodes(struct module_tree *t, const struct model *m, uint32_t *children)
{
	uint32_t top = NO_ROW;

	for (uint32_t i = 0; i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i];

		t->parent[i] = NO_ROW;
		t->node[i] = is_node(m, i);
		if (!t->node[i])
			continue;
		while (top != NO_ROW && (m->slices[top].thread != s->thread ||
					 m->slices[top].end <= s->begin))
			top = t->parent[top];
		t->node[i] = top == NO_ROW || s->end <= m->slices[top].end;
		if (!t->node[i])
			continue;
		t->parent[i] = top;
		if (top != NO_ROW)
			children[top]++;
		top = i;
	}
}

/* Gives each operator the work that it launched. */
static bool add_work(struct module_tree *t, const struct model *m)
{
	struct launches all;

	if (!launches_make(&all, m))
		return false;
	for (uint32_t i = 0; i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i];
		uint32_t op = s->kind == SLICE_DEVICE ? launches_op(&all, s) : NO_ROW;

		if (op != NO_ROW)
			sum_add(&t->device[op], s->end - s->begin);
	}
	launches_free(&all);
	return true;
}

/* The parent keeps the place of the two, and has the child's work and children. */
static void merge_twins(struct module_tree *t, const struct model *m, uint32_t *children)
{
	const struct slice *slices = m->slices;

	for (uint32_t i = 0; i < m->slices_n; i++) {
		uint32_t parent = t->parent[i];

		if (!t->node[i] || parent == NO_ROW)
			continue;
		if (!t->node[parent])
			parent = t->parent[i] = t->parent[parent];
		if (children[parent] != 1 || slices[i].name != slices[parent].name ||
		    slices[i].kind != SLICE_OP || slices[parent].kind != SLICE_OP)
			continue;
		t->node[i] = false;
		children[parent] = children[i];
		t->device[parent] = t->device[i];
	}
}

/* What is inside stands behind what is around it. */
static void add_times(struct module_tree *t, const struct model *m)
{
	for (uint32_t i = (uint32_t)m->slices_n; i-- > 0;) {
		int64_t length = m->slices[i].end - m->slices[i].begin;

		if (!t->node[i])
			continue;
		sum_add(&t->host[i], length);
		if (t->parent[i] == NO_ROW)
			continue;
		sum_take(&t->host[t->parent[i]], length);
		sum_add(&t->device[t->parent[i]], t->device[i]);
	}
}

bool module_tree_make(struct module_tree *t, const struct model *m)
{
	size_t room = m->slices_n + 1;
	uint32_t *children = calloc(room, sizeof(*children));
	bool fine;

	*t = (struct module_tree){ malloc(room * sizeof(*t->parent)),
				   calloc(room, sizeof(*t->host)),
				   calloc(room, sizeof(*t->device)),
				   calloc(room, sizeof(*t->node)) };
	fine = children && t->parent && t->host && t->device && t->node && add_work(t, m);
	if (fine) {
		nest_nodes(t, m, children);
		merge_twins(t, m, children);
		add_times(t, m);
	} else {
		module_tree_free(t);
	}
	free(children);
	return fine;
}

void module_tree_free(struct module_tree *t)
{
	free(t->parent);
	free(t->host);
	free(t->device);
	free(t->node);
	*t = (struct module_tree){ 0 };
}
