/* SPDX-License-Identifier: Apache-2.0 */
/* Times, tensors and the heap as weights of stacks. */
#include "report/export/weights.h"
#include "report/figures/launches.h"
#include "report/figures/self_time.h"
#include "report/lines.h"
#include "report/memory/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- times ---- */

/* Own times: what a slice calls is counted at what it calls. */
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

/* Work that no operator launched stands at the root. */
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

/* Nothing says where a block from before the recording was made: it is left out. */
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

/* Call sites on their way into the tree. A file names a stack for many sites, and a frame
 * in many stacks: each is put there once. */
struct sites_fold {
	struct fold *f;
	const struct model *m;
	uint32_t *frame; /* of the fold, by the file's frame; UNKNOWN = not yet */
	uint32_t *stack; /* a node, by the file's stack */
};
#define UNKNOWN UINT32_MAX

/* One row more than needed: a list of none is no failure. */
static uint32_t *all_unknown(size_t n)
{
	uint32_t *list = malloc((n + 1) * sizeof(*list));

	if (list)
		memset(list, 0xff, (n + 1) * sizeof(*list));
	return list;
}

/* A name becomes a frame once: many stacks share it. One that is not known is "?". */
static uint32_t frame_below(struct sites_fold *s, uint32_t node, uint32_t frame)
{
	const char *name;

	if (frame == SITE_NONE)
		return fold_below(s->f, node, "?");
	name = texts_get(&s->m->texts, s->m->heap->frames[frame]);
	if (s->frame[frame] == UNKNOWN)
		s->frame[frame] = fold_frame(s->f, name, strlen(name));
	return fold_child(s->f, node, s->frame[frame]);
}

/* The file has a stack's frames innermost first. */
static uint32_t native_node(struct sites_fold *s, uint32_t stack)
{
	const struct sites *h = s->m->heap;
	uint32_t node = FOLD_ROOT;

	if (s->stack[stack] != UNKNOWN)
		return s->stack[stack];
	for (uint32_t i = h->stack_at[stack + 1]; i > h->stack_at[stack]; i--)
		node = frame_below(s, node, h->stack_pool[i - 1]);
	return s->stack[stack] = node;
}

/* The lines of Python, the operator, and the native function that allocates: what lies
 * between these is the interpreter. */
static uint32_t lines_node(struct sites_fold *s, const struct site *site)
{
	const struct texts *texts = &s->m->texts;
	char native[LINE_MOST + 1];
	uint32_t node = fold_stack(s->f, FOLD_ROOT, texts_get(texts, site->python), NULL);

	if (site->op != TEXT_NONE)
		node = fold_below(s->f, node, texts_get(texts, site->op));
	return memory_native(native, sizeof(native), s->m, site, 1)
		       ? fold_below(s->f, node, native)
		       : node;
}

/* Without a stack of either kind a site is its operator, and what was called. */
static uint32_t site_node(struct sites_fold *s, const struct site *site)
{
	const struct texts *texts = &s->m->texts;
	uint32_t node = FOLD_ROOT;

	if (site->python != TEXT_NONE)
		return lines_node(s, site);
	if (site->stack != SITE_NONE)
		return native_node(s, site->stack);
	if (site->op != TEXT_NONE)
		node = fold_below(s->f, node, texts_get(texts, site->op));
	return fold_below(s->f, node,
			  site->call == TEXT_NONE ? "(no stack)"
						  : texts_get(texts, site->call));
}

/* Sites that are too small for a row; without any, all of them (--malloc count). */
static void add_other(struct sites_fold *s, bool live)
{
	const struct sites *h = s->m->heap;
	uint32_t node = fold_below(s->f, FOLD_ROOT,
				   h->rows_n ? "(smaller sites)" : "(the whole heap)");

	fold_add(s->f, fold_below(s->f, node, "[heap]"),
		 live ? h->other.live : h->other.bytes);
}

/* What is too small for a row is added as well, so that the sum is the heap's. */
bool weights_heap(struct fold *f, const struct model *m, bool live)
{
	const struct sites *h = m->heap;
	struct sites_fold s = { f, m, all_unknown(h->frames_n),
				all_unknown(h->stacks_n) };
	bool fine = s.frame && s.stack;

	for (size_t i = 0; fine && i < h->rows_n; i++) {
		const struct site *site = &h->rows[i];

		fold_add(f, fold_below(f, site_node(&s, site), "[heap]"),
			 live ? site->live : site->bytes);
	}
	if (fine)
		add_other(&s, live);
	free(s.frame);
	free(s.stack);
	return fine;
}
