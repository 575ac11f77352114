/* SPDX-License-Identifier: Apache-2.0 */
/* Adds modules up by their place, then puts the rows in the order of a tree. */
#include "report/figures/modules.h"
#include "base/array.h"
#include "report/figures/module_tree.h"
#include "report/figures/sum.h"

#include <stdlib.h>
#include <string.h>

struct adding {
	struct modules *s;
	struct model *m;
	struct module_tree tree;
	int64_t from, to;
	uint32_t *slots; /* hash of rows */
	size_t slots_n;
};

/* ---- rows ---- */

/* The slot of a place, or the empty slot where it belongs. */
static uint32_t *place_slot(const struct adding *a, uint32_t parent, uint32_t name)
{
	uint64_t h = ((uint64_t)parent << 32 | name) * 0x9e3779b97f4a7c15ull;
	size_t at = h >> 32 & (a->slots_n - 1);

	while (a->slots[at] != NO_ROW) {
		const struct module_figures *r = &a->s->row[a->slots[at]];

		if (r->parent == parent && r->name == name)
			break;
		at = (at + 1) & (a->slots_n - 1);
	}
	return &a->slots[at];
}

/* The hash is never more than half full, so that a search ends. */
static bool more_places(struct adding *a)
{
	size_t n = a->slots_n ? 2 * a->slots_n : 256;

	free(a->slots);
	a->slots_n = n;
	a->slots = malloc(n * sizeof(*a->slots));
	if (!a->slots)
		return false;
	memset(a->slots, 0xff, n * sizeof(*a->slots));
	for (uint32_t i = 0; i < a->s->n; i++)
		*place_slot(a, a->s->row[i].parent, a->s->row[i].name) = i;
	return true;
}

/* The row of a place, which is made at its first call. NO_ROW: no memory. */
static uint32_t row_at(struct adding *a, uint32_t parent, uint32_t name)
{
	struct modules *s = a->s;
	uint32_t *slot;

	if (name == TEXT_NONE || (2 * (s->n + 1) > a->slots_n && !more_places(a)))
		return NO_ROW;
	slot = place_slot(a, parent, name);
	if (*slot != NO_ROW)
		return *slot;
	if (s->n >= NO_ROW || !GROW(s->row, s->room, s->n))
		return NO_ROW;
	s->row[s->n] = (struct module_figures){
		.name = name,
		.parent = parent,
		.depth = parent == NO_ROW ? 0 : s->row[parent].depth + 1,
	};
	return *slot = (uint32_t)s->n++;
}

/* ---- sums ---- */

/* Adds a module to the row of its place. False: no memory. */
static bool add_module(struct adding *a, uint32_t i, uint32_t around)
{
	const struct slice *slice = &a->m->slices[i];
	const char *name = slice_name(a->m, i) + strlen(MODULE_PREFIX);
	struct module_figures *r;
	uint32_t row = row_at(a, around, texts_add(&a->m->texts, name, strlen(name)));

	a->s->of[i] = row;
	if (row == NO_ROW)
		return false;
	r = &a->s->row[row];
	r->path = r->count ? r->path : slice->path;
	r->count += !slice->continued;
	sum_add(&r->host, slice->end - slice->begin);
	sum_add(&r->self_host, a->tree.host[i]);
	sum_add(&r->device, a->tree.device[i]);
	return true;
}

/* Adds an operator to the module that it lies in, with no operator between. */
static void add_operator(struct adding *a, uint32_t i)
{
	uint32_t parent = a->tree.parent[i];
	struct module_figures *r;

	if (!a->tree.node[i] || parent == NO_ROW || a->s->of[parent] == NO_ROW ||
	    !module_tree_is_module(a->m, parent) || !module_tree_is_operator(a->m, i))
		return;
	r = &a->s->row[a->s->of[parent]];
	r->operators++;
	sum_add(&r->self_device, a->tree.device[i]);
}

/* One pass: a module has its row before what is inside of it is added. */
static bool add_slices(struct adding *a)
{
	for (uint32_t i = 0; i < a->m->slices_n; i++) {
		const struct slice *s = &a->m->slices[i];
		uint32_t around = s->parent == NO_ROW ? NO_ROW : a->s->of[s->parent];

		a->s->of[i] = around;
		if (s->begin < a->from || s->begin >= a->to)
			continue;
		if (module_tree_is_module(a->m, i) && a->tree.node[i] &&
		    !add_module(a, i, around))
			return false;
		add_operator(a, i);
	}
	return true;
}

/* ---- order ---- */

/* Rows stand behind the one that they are below: so how many are below a row, and where
 * each goes, is found in two passes. */
static bool order_rows(struct modules *s, size_t slices_n)
{
	uint32_t *below = calloc(s->n + 1, sizeof(*below));
	uint32_t *to = malloc((s->n + 1) * sizeof(*to));
	struct module_figures *row = malloc((s->n + 1) * sizeof(*row));
	uint32_t roots = 0;

	for (size_t i = s->n; below && to && row && i-- > 0;)
		if (s->row[i].parent != NO_ROW)
			below[s->row[i].parent] += below[i] + 1;
	for (size_t i = 0; below && to && row && i < s->n; i++) {
		uint32_t parent = s->row[i].parent, size = below[i] + 1;

		/* Of a row that is placed `below` says where its next child goes. */
		to[i] = parent == NO_ROW ? roots : below[parent];
		if (parent == NO_ROW)
			roots += size;
		else
			below[parent] += size;
		below[i] = to[i] + 1;
		row[to[i]] = s->row[i];
		if (parent != NO_ROW)
			row[to[i]].parent = to[parent];
	}
	for (size_t i = 0; below && to && row && i < slices_n; i++)
		if (s->of[i] != NO_ROW)
			s->of[i] = to[s->of[i]];
	if (below && to && row) {
		free(s->row);
		s->row = row;
	} else {
		free(row);
	}
	free(below);
	free(to);
	return below && to && row;
}

bool modules_make(struct modules *s, struct model *m, int64_t from, int64_t to)
{
	struct adding a = { .s = s, .m = m, .from = from, .to = to };
	bool fine;

	*s = (struct modules){ .of = malloc((m->slices_n + 1) * sizeof(*s->of)) };
	fine = s->of && module_tree_make(&a.tree, m) && add_slices(&a) &&
	       order_rows(s, m->slices_n);
	if (!fine)
		modules_free(s);
	module_tree_free(&a.tree);
	free(a.slots);
	return fine;
}

void modules_free(struct modules *s)
{
	free(s->row);
	free(s->of);
	*s = (struct modules){ 0 };
}
