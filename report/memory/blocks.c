/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations paired with their frees by address and device, each with a label for its
 * operator and its call site. */
#include "report/memory/blocks.h"
#include "base/order.h"
#include "report/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_MOST 1024
#define NAME_MOST  LINE_MOST

/* ---- the operator in flight ---- */

/* The slice itself, or the next operator around it; NO_ROW: there is none. */
static uint32_t innermost_op(const struct model *m, uint32_t slice)
{
	while (slice != NO_ROW && m->slices[slice].kind != SLICE_OP)
		slice = m->slices[slice].parent;
	return slice;
}

/* The outer part of a node of autograd is not an operator of its own. */
static bool is_node(const char *name)
{
	return text_starts_with(name, "autograd::engine::evaluate_function");
}

/* The outermost operator around a slice, nodes of autograd included; NO_ROW = none. */
static uint32_t outermost_op(const struct model *m, uint32_t slice)
{
	uint32_t found = NO_ROW;

	for (; slice != NO_ROW; slice = m->slices[slice].parent)
		if (m->slices[slice].kind == SLICE_OP && !is_node(slice_name(m, slice)))
			found = slice;
	return found;
}

uint32_t blocks_within(const struct model *m, uint32_t slice, const char *prefix)
{
	while (slice != NO_ROW && !text_starts_with(slice_name(m, slice), prefix))
		slice = m->slices[slice].parent;
	return slice;
}

/* ---- labels ---- */

/* Makes the label of the operator around a slice; TEXT_NONE: outside of all operators.
 * False: no memory. */
static bool find_op_label(struct model *m, uint32_t slice, uint32_t *label)
{
	uint32_t op = innermost_op(m, slice), outer;
	char text[LABEL_MOST];

	*label = TEXT_NONE;
	if (op == NO_ROW)
		return true;
	*label = m->slices[op].name;
	if (!text_starts_with(slice_name(m, op), "aten::empty"))
		return true;
	outer = innermost_op(m, m->slices[op].parent);
	if (outer == NO_ROW || is_node(slice_name(m, outer)))
		return true;
	snprintf(text, sizeof(text), "%.500s (%.500s)", slice_name(m, outer),
		 slice_name(m, op));
	*label = texts_add(&m->texts, text, strlen(text));
	return *label != TEXT_NONE;
}

/* Does a name not tell users where in their program they are? */
static bool is_noise(const char *name, bool python)
{
	if (python)
		return !line_is_own(name);
	return is_node(name) || text_starts_with(name, "ProfilerStep#");
}

/* A call site on its way to a label: lines of Python, and operators and annotations. */
struct trail {
	struct names {
		char text[LABEL_MOST];
		size_t at;
		unsigned n;
		char last[NAME_MOST + 1];
	} lines, others;
	unsigned depth;
	bool of_forward; /* the lines are the forward operator's */
};

/* Appends a name, unless it is the one before it, or there are enough. */
static void add_name(struct names *to, const char *name, unsigned depth)
{
	if (to->n == depth || to->at >= sizeof(to->text) - 1 ||
	    !strncmp(name, to->last, NAME_MOST))
		return;
	snprintf(to->last, sizeof(to->last), "%s", name);
	to->at += (size_t)snprintf(to->text + to->at, sizeof(to->text) - to->at, "%s%s",
				   to->n++ ? " < " : "", to->last);
}

/* Appends the frames of a "Call stack" that are the program's own. */
static void add_stack(struct trail *t, const char *stack)
{
	char frame[LINE_MOST + 1];

	while (t->lines.n < t->depth && lines_next(&stack, frame))
		add_name(&t->lines, frame, t->depth);
}

/* The names around an allocation, innermost first, without repetitions. */
static void follow_trail(struct trail *t, const struct model *m, uint32_t slice)
{
	bool stack = false;

	for (; slice != NO_ROW; slice = m->slices[slice].parent) {
		const struct slice *s = &m->slices[slice];
		const char *name = slice_name(m, slice);
		size_t len;

		if (s->stack != TEXT_NONE && !stack &&
		    line_innermost(texts_get(&m->texts, s->stack), &len)) {
			add_stack(t, texts_get(&m->texts, s->stack));
			stack = true;
			t->of_forward = s->of_forward;
		}
		if (!is_noise(name, s->kind == SLICE_PYTHON))
			add_name(s->kind == SLICE_PYTHON ? &t->lines : &t->others, name,
				 t->depth);
	}
}

/* Makes the label of a call site: where the trace knows lines of Python they come first,
 * and the operator's label, if there is one, follows in brackets. */
static bool site_label(struct model *m, uint32_t slice, unsigned depth, uint32_t op,
		       uint32_t *label)
{
	struct trail t = { .depth = depth };
	char text[LABEL_MOST + 2 * NAME_MOST];
	int len;

	*label = TEXT_NONE;
	follow_trail(&t, m, slice);
	if (!t.lines.n && !t.others.n)
		return true;
	if (!t.lines.n || op == TEXT_NONE)
		len = snprintf(text, sizeof(text), "%s",
			       t.lines.n ? t.lines.text : t.others.text);
	else
		len = snprintf(text, sizeof(text), "%s < [%.500s]%s", t.lines.text,
			       texts_get(&m->texts, op),
			       t.of_forward ? " (forward)" : "");
	*label = texts_add(&m->texts, text, (size_t)len);
	return *label != TEXT_NONE;
}

/* ---- pairing ---- */

/* Open blocks by address and device: open addressing; slots of ended blocks stay GONE
 * until the table is made anew. */
struct open {
	uint32_t *slots; /* a block's number, FREE or GONE */
	size_t n, used;
};
#define FREE UINT32_MAX
#define GONE (UINT32_MAX - 1)

static size_t slot_of_block(const struct open *o, const struct blocks *b, uint64_t addr,
			    uint32_t device)
{
	uint64_t h = (addr ^ (uint64_t)device << 58) * 0x9e3779b97f4a7c15ull;
	size_t at = h >> 17 & (o->n - 1);

	for (; o->slots[at] != FREE; at = (at + 1) & (o->n - 1)) {
		const struct block *k;

		if (o->slots[at] == GONE)
			continue;
		k = &b->rows[o->slots[at]];
		if (k->device == device && b->model->memory[k->from].addr == addr)
			break;
	}
	return at;
}

static bool resize_slots(struct open *o, const struct blocks *b)
{
	struct open bigger = { .n = o->n ? o->n : 1024 };
	size_t live = 0;

	for (size_t i = 0; i < o->n; i++)
		live += o->slots[i] < GONE;
	if (4 * live >= bigger.n)
		bigger.n *= 2;
	bigger.slots = malloc(bigger.n * sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	memset(bigger.slots, 0xff, bigger.n * sizeof(*bigger.slots));
	for (size_t i = 0; i < o->n; i++) {
		const struct block *k;

		if (o->slots[i] >= GONE)
			continue;
		k = &b->rows[o->slots[i]];
		bigger.slots[slot_of_block(&bigger, b, b->model->memory[k->from].addr,
					   k->device)] = o->slots[i];
	}
	bigger.used = live;
	free(o->slots);
	*o = bigger;
	return true;
}

static bool add_row(struct blocks *b, const struct block *row)
{
	if (b->n >= GONE || !GROW(b->rows, b->room, b->n))
		return false;
	b->rows[b->n++] = *row;
	return true;
}

/* Adds an allocation. Where a block is live at the address its free was not seen: it ends
 * here. */
static bool add_allocation(struct blocks *b, struct open *o, uint32_t event,
			   unsigned depth)
{
	struct model *m = b->model;
	const struct memory_event *e = &m->memory[event];
	struct block row = { .begin = e->ts,
			     .end = BLOCK_LIVE,
			     .bytes = e->bytes,
			     .from = event,
			     .to = NO_ROW,
			     .device = e->device,
			     .category = CATEGORY_UNKNOWN };
	size_t at;

	if (!find_op_label(m, e->slice, &row.op) ||
	    !site_label(m, e->slice, depth, row.op, &row.site))
		return false;
	if (2 * (o->used + 1) > o->n && !resize_slots(o, b))
		return false;
	at = slot_of_block(o, b, e->addr, e->device);
	if (o->slots[at] != FREE) {
		b->rows[o->slots[at]].end = e->ts;
		b->overwritten++;
	} else {
		o->used++;
	}
	o->slots[at] = (uint32_t)b->n;
	return add_row(b, &row);
}

/* Adds a free. One without its allocation makes a block from before the window. */
static bool add_free(struct blocks *b, struct open *o, uint32_t event)
{
	const struct model *m = b->model;
	const struct memory_event *e = &m->memory[event];
	struct block row = { .begin = BLOCK_BEFORE,
			     .end = e->ts,
			     .bytes = -e->bytes,
			     .from = NO_ROW,
			     .to = event,
			     .op = TEXT_NONE,
			     .site = TEXT_NONE,
			     .device = e->device,
			     .category = CATEGORY_UNKNOWN };
	size_t at = o->n ? slot_of_block(o, b, e->addr, e->device) : 0;
	struct block *k;
	uint32_t outer;

	if (!o->n || o->slots[at] == FREE)
		return add_row(b, &row);
	k = &b->rows[o->slots[at]];
	o->slots[at] = GONE;
	k->end = e->ts;
	k->to = event;
	outer = outermost_op(m, m->memory[k->from].slice);
	k->brief = outer != NO_ROW && m->memory[k->from].thread == e->thread &&
		   e->ts <= m->slices[outer].end;
	return true;
}

static int by_begin(const void *x, const void *y)
{
	const struct block *a = x, *b = y;
	uint32_t i = a->from == NO_ROW ? a->to : a->from;
	uint32_t j = b->from == NO_ROW ? b->to : b->from;

	return order_of(a->begin, b->begin) ?: order_of(i, j);
}

bool blocks_make(struct blocks *b, struct model *m, unsigned depth)
{
	struct open o = { 0 };
	bool fine = true;

	*b = (struct blocks){ .model = m };
	for (size_t i = 0; fine && i < m->memory_n; i++) {
		const struct memory_event *e = &m->memory[i];

		if (!e->has_addr || e->oom || !e->bytes)
			continue;
		fine = e->bytes > 0 ? add_allocation(b, &o, (uint32_t)i, depth)
				    : add_free(b, &o, (uint32_t)i);
	}
	free(o.slots);
	if (fine && b->n)
		qsort(b->rows, b->n, sizeof(*b->rows), by_begin);
	if (!fine)
		blocks_free(b);
	return fine;
}

void blocks_free(struct blocks *b)
{
	free(b->rows);
	b->rows = NULL;
	b->n = b->room = 0;
}
