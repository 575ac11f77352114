/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a slice below the one around it where both came from the same line of Python, and
 * writes its chain anew where they did not. */
#include "report/export/chain.h"
#include "base/text.h"

#include <stdlib.h>

/* So many slices around one are written anew: a hostile file has a million. */
#define AROUND_MOST 64

/* All steps are one frame: each would have a tree of its own otherwise. */
static uint32_t name_below(struct chain *c, uint32_t node, uint32_t slice)
{
	struct origin *o = &c->origin;

	if (text_after(slice_name(o->m, slice), "ProfilerStep#"))
		return fold_below(o->f, node, "ProfilerStep*");
	return origin_below(o, node, o->m->slices[slice].name);
}

/* The next slice around, without functions of Python and what runs on a device. */
static uint32_t next_around(const struct chain *c, uint32_t i)
{
	const struct slice *slices = c->origin.m->slices;
	uint32_t parent = slices[i].parent;

	if (parent == NO_ROW ||
	    (slices[parent].kind != SLICE_PYTHON && slices[parent].kind != SLICE_DEVICE))
		return parent;
	return c->around[parent];
}

/* The node of a slice whose Python is not that of what is around it. */
static uint32_t write_anew(struct chain *c, uint32_t i)
{
	uint32_t around[AROUND_MOST], node = c->origin.node[i];
	unsigned n = 0;

	for (uint32_t at = i; at != NO_ROW && n < AROUND_MOST; at = c->around[at])
		around[n++] = at;
	while (n)
		node = name_below(c, node, around[--n]);
	return node;
}

/* A chain goes on below the slice around it only where both have the same stack of
 * Python. Work of a device has none. */
static uint32_t chain_of(struct chain *c, uint32_t i)
{
	const struct origin *o = &c->origin;
	uint32_t around = c->around[i];

	switch (o->m->slices[i].kind) {
	case SLICE_DEVICE:
		return FOLD_ROOT;
	case SLICE_PYTHON:
		return name_below(c, o->node[i], i);
	}
	if (around != NO_ROW && o->node[around] == o->node[i])
		return name_below(c, c->node[around], i);
	return write_anew(c, i);
}

/* A slice comes behind those around it, so that one pass finds every chain. */
bool chain_make(struct chain *c, const struct model *m, struct fold *f)
{
	*c = (struct chain){ 0 };
	if (!origin_make(&c->origin, m, f, ORIGIN_FRAMES))
		return false;
	c->around = malloc((m->slices_n + 1) * sizeof(*c->around));
	c->node = malloc((m->slices_n + 1) * sizeof(*c->node));
	for (uint32_t i = 0; c->around && c->node && i < m->slices_n; i++) {
		c->around[i] = next_around(c, i);
		c->node[i] = chain_of(c, i);
	}
	if (c->around && c->node && !f->full)
		return true;
	chain_free(c);
	return false;
}

void chain_free(struct chain *c)
{
	origin_free(&c->origin);
	free(c->around);
	free(c->node);
	*c = (struct chain){ 0 };
}
