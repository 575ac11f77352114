/* SPDX-License-Identifier: Apache-2.0 */
/* Times, tensors and the heap as weights of stacks. */
#include "report/export/weights.h"
#include "report/export/launches.h"
#include "report/export/self_time.h"
#include "report/memory/lines.h"
#include "report/memory/memory.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- times ---- */

bool weights_cpu(const struct chain *c)
{
	const struct model *m = c->origin.m;
	int64_t *self = self_time_make(m);

	for (size_t i = 0; self && i < m->slices_n; i++)
		if (m->slices[i].kind != SLICE_DEVICE)
			fold_add(c->origin.f, c->node[i], self[i]);
	free(self);
	return self != NULL;
}

bool weights_device(const struct chain *c)
{
	const struct model *m = c->origin.m;
	struct fold *f = c->origin.f;
	struct launches all;

	if (!launches_make(&all, m))
		return false;
	for (uint32_t i = 0; i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i];
		uint32_t op, node;

		if (s->kind != SLICE_DEVICE)
			continue;
		op = launches_op(&all, s);
		node = fold_below(f, op == NO_ROW ? FOLD_ROOT : c->node[op],
				  slice_name(m, i));
		fold_add(f, node, s->end - s->begin);
	}
	launches_free(&all);
	return true;
}

/* ---- bytes ---- */

void weights_tensors(const struct chain *c, const struct blocks *b, bool live)
{
	const struct model *m = c->origin.m;
	struct fold *f = c->origin.f;
	char name[48] = "[", device[32];

	for (size_t i = 0; i < b->n; i++) {
		const struct block *k = &b->rows[i];
		uint32_t slice, node;

		if (k->begin == BLOCK_BEFORE || (live && k->end != BLOCK_LIVE))
			continue;
		slice = m->memory[k->from].slice;
		node = slice == NO_ROW ? fold_below(f, FOLD_ROOT, "(outside operators)")
				       : c->node[slice];
		model_device(m, k->device, device, sizeof(device));
		snprintf(name, sizeof(name), "[%s]", device);
		fold_add(f, fold_below(f, node, name), k->bytes);
	}
}

/* The lines of Python, the operator, and the native function that allocates: what lies
 * between these is the interpreter. */
static uint32_t lines_node(struct fold *f, const struct model *m, const struct site *site)
{
	char native[LINE_MOST + 1];
	uint32_t node =
		fold_stack(f, FOLD_ROOT, texts_get(&m->texts, site->python), NULL);

	if (site->op != TEXT_NONE)
		node = fold_below(f, node, texts_get(&m->texts, site->op));
	return memory_native(native, sizeof(native), m, site, 1)
		       ? fold_below(f, node, native)
		       : node;
}

/* The stack of a call site, whose frames are innermost first; without one, its operator.
 */
static uint32_t site_node(struct fold *f, const struct model *m, const struct site *site)
{
	const struct sites *h = m->heap;
	uint32_t node = FOLD_ROOT;

	if (site->python != TEXT_NONE)
		return lines_node(f, m, site);
	if (site->stack == SITE_NONE && site->op != TEXT_NONE)
		node = fold_below(f, node, texts_get(&m->texts, site->op));
	if (site->stack == SITE_NONE)
		return fold_below(f, node,
				  site->call == TEXT_NONE
					  ? "(no stack)"
					  : texts_get(&m->texts, site->call));
	for (uint32_t i = h->stack_at[site->stack + 1]; i > h->stack_at[site->stack];
	     i--) {
		uint32_t frame = h->stack_pool[i - 1];

		node = fold_below(f, node,
				  frame == SITE_NONE
					  ? "?"
					  : texts_get(&m->texts, h->frames[frame]));
	}
	return node;
}

void weights_heap(struct fold *f, const struct model *m, bool live)
{
	const struct sites *h = m->heap;

	for (size_t i = 0; i < h->rows_n; i++) {
		const struct site *site = &h->rows[i];

		fold_add(f, fold_below(f, site_node(f, m, site), "[heap]"),
			 live ? site->live : site->bytes);
	}
	/* Sites that are too small for a row; without any, all of them (--malloc count).
	 */
	fold_add(
		f,
		fold_below(f,
			   fold_below(f, FOLD_ROOT,
				      h->rows_n ? "(smaller sites)" : "(the whole heap)"),
			   "[heap]"),
		live ? h->other.live : h->other.bytes);
}
