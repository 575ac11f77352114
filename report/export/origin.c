/* SPDX-License-Identifier: Apache-2.0 */
/* Gives each slice its stack of Python: first what lies outside of backward passes, then
 * what lies inside, by the operators outside. */
#include "report/export/origin.h"
#include "base/frame_text.h"
#include "base/order.h"
#include "base/search.h"
#include "base/text.h"
#include "report/lines.h"

#include <stdlib.h>

#define NODE_PREFIX "autograd::engine::evaluate_function: "
#define UNKNOWN     UINT32_MAX

/* ---- frames ---- */

/* Frames that torch leaves out of its stacks (profiler_util.py, _filter_stack_entry). */
static bool is_filtered(const char *frame, size_t len)
{
	static const char *const pairs[][2] = {
		{ "autograd/__init__", "_make_grads" },
		{ "autograd/__init__", "backward" },
		{ "torch/tensor", "backward" },
		{ "_internal/common_utils", "prof_callable" },
		{ "_internal/common_utils", "prof_func_call" },
		{ "_internal/common_utils", "prof_meth_call" },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (memmem(frame, len, pairs[i][0], strlen(pairs[i][0])) &&
		    memmem(frame, len, pairs[i][1], strlen(pairs[i][1])))
			return true;
	return false;
}

/* A name becomes a frame once: many slices share it. */
uint32_t origin_below(struct origin *o, uint32_t node, uint32_t text)
{
	const char *name = texts_get(&o->m->texts, text);

	if (o->torch && is_filtered(name, strlen(name)))
		return node;
	if (o->frames[text] == UNKNOWN)
		o->frames[text] = fold_frame(o->f, name, strlen(name));
	return fold_child(o->f, node, o->frames[text]);
}

static bool is_no_line(const char *frame, size_t len)
{
	return !frame_place(frame, len);
}

static bool is_none_of_torch(const char *frame, size_t len)
{
	return is_filtered(frame, len) || is_no_line(frame, len);
}

static bool has_line(const struct origin *o, uint32_t text)
{
	size_t len;

	return line_innermost(texts_get(&o->m->texts, text), &len);
}

/* A stack is taken apart once: many slices have the same one. */
static uint32_t node_of_text(struct origin *o, uint32_t text)
{
	if (o->stacks[text] == UNKNOWN)
		o->stacks[text] =
			fold_stack(o->f, FOLD_ROOT, texts_get(&o->m->texts, text),
				   o->torch && o->lines ? is_none_of_torch
				   : o->torch           ? is_filtered
				   : o->lines           ? is_no_line
							: NULL);
	return o->stacks[text];
}

/* ---- functions of Python ---- */

/* Frames are off by a little (pytorch 174555): so much one may stand out of another. */
#define SLACK_NS 1000

/* Finds for each slice the functions that run when it begins: an annotation begins inside
 * of its __enter__, and outlives it. */
static void find_functions(struct origin *o)
{
	const struct slice *slices = o->m->slices;
	uint32_t top = NO_ROW;

	for (uint32_t i = 0; i < o->m->slices_n; i++) {
		const struct slice *s = &slices[i];
		bool python = s->kind == SLICE_PYTHON;

		while (top != NO_ROW &&
		       (slices[top].thread != s->thread || slices[top].end <= s->begin ||
			(python && slices[top].end < s->end - SLACK_NS)))
			top = o->python[top];
		o->python[i] = top;
		if (python)
			top = i;
	}
}

/* ---- outside of backward passes ---- */

/* A function that is a slice itself is the innermost frame of what it encloses. */
static uint32_t below_function(struct origin *o, uint32_t python)
{
	return origin_below(o, o->node[python], o->m->slices[python].name);
}

/* Does the slice lie in an operator that the innermost function of Python called? It
 * shares the operator's stack then, which may have lines that no function is there for.
 */
static bool is_below_operator(const struct origin *o, uint32_t i)
{
	uint32_t parent = o->m->slices[i].parent;

	return parent != NO_ROW && parent > o->python[i] &&
	       o->m->slices[parent].kind == SLICE_OP;
}

/* The stack that the slice has itself, or shares with what it lies in. A stack of the
 * forward operator is none of torch's: its own have it by number. */
static uint32_t own_stack(struct origin *o, uint32_t i)
{
	const struct slice *s = &o->m->slices[i];
	uint32_t node;

	if (s->stack != TEXT_NONE && s->of_forward && o->torch)
		return FOLD_ROOT;
	if (s->stack != TEXT_NONE && (!o->lines || has_line(o, s->stack))) {
		node = node_of_text(o, s->stack);
		return s->of_forward ? fold_below(o->f, node, ORIGIN_BACKWARD) : node;
	}
	if (o->python[i] != NO_ROW && !is_below_operator(o, i))
		return below_function(o, o->python[i]);
	return s->parent == NO_ROW ? FOLD_ROOT : o->node[s->parent];
}

/* ---- backward operators ---- */

/* Is the slice a node of autograd, which what it calls belongs to? The engine's part
 * around a node is one for us, and none for torch. */
static bool is_backward(const struct origin *o, uint32_t i)
{
	const struct slice *s = &o->m->slices[i];
	const char *name = slice_name(o->m, i), *around;

	if (s->kind != SLICE_OP)
		return false;
	if (text_after(name, NODE_PREFIX))
		return !o->torch && s->backward;
	if (s->backward)
		return true;
	if (s->parent == NO_ROW)
		return false;
	around = text_after(slice_name(o->m, s->parent), NODE_PREFIX);
	return around && !strcmp(around, name);
}

/* Forward operators by their numbers, which count in each thread by itself. */
struct numbered {
	struct number {
		int64_t seq;
		uint32_t thread, slice;
	} * rows;
	size_t n, room;
};

/* Slices of one number and thread keep the model's order: the outermost is first. */
static int by_number(const void *left, const void *right)
{
	const struct number *a = left, *b = right;

	return order_of(a->seq, b->seq) ?: order_of(a->thread, b->thread) ?:
	       order_of(a->slice, b->slice);
}

/* The list has forward operators alone, in the order that first_number searches. */
static bool number_slices(struct numbered *all, const struct origin *o)
{
	for (size_t i = 0; i < o->m->slices_n; i++) {
		const struct slice *s = &o->m->slices[i];

		/* The engine's part around a node has the number as well, and is no
		 * forward operator. */
		if (s->kind != SLICE_OP || s->seq < 0 || s->backward || o->within[i])
			continue;
		if (!GROW(all->rows, all->room, all->n))
			return false;
		all->rows[all->n++] = (struct number){ s->seq, s->thread, (uint32_t)i };
	}
	if (all->n)
		qsort(all->rows, all->n, sizeof(*all->rows), by_number);
	return true;
}

/* Where no slice has the number, it is the place of the next larger one. */
static size_t first_number(const struct numbered *all, int64_t seq, uint32_t thread)
{
	struct number want = { seq, thread, 0 };

	return SEARCH_FIRST(i, 0, all->n, by_number(&all->rows[i], &want) >= 0);
}

/* The outermost forward operator of a backward operator; NO_ROW: it is not in the trace.
 * The file numbers the forward thread in another way than its rows: it is the operator's
 * own thread, else the first one that has the number. */
static uint32_t forward_of(const struct numbered *all, const struct slice *s)
{
	size_t at;

	if (s->seq < 0 || !s->backward)
		return NO_ROW;
	at = first_number(all, s->seq, s->thread);
	if (at == all->n || all->rows[at].seq != s->seq ||
	    all->rows[at].thread != s->thread)
		at = first_number(all, s->seq, 0);
	return at < all->n && all->rows[at].seq == s->seq ? all->rows[at].slice : NO_ROW;
}

/* The forward operator's stack that a file of ours has beside the engine's part. */
static uint32_t given_stack(struct origin *o, uint32_t i)
{
	for (unsigned tries = 0; tries < 2 && i != NO_ROW; tries++) {
		const struct slice *s = &o->m->slices[i];

		if (s->of_forward && s->stack != TEXT_NONE)
			return node_of_text(o, s->stack);
		i = s->parent;
	}
	return FOLD_ROOT;
}

/* The stack of a slice inside of a backward pass: what lies in an operator there shares
 * the operator's, whatever its own thread was doing. */
static uint32_t backward_stack(struct origin *o, const struct numbered *all, uint32_t i)
{
	const struct slice *s = &o->m->slices[i];
	uint32_t forward, node;

	if (!is_backward(o, i)) {
		if (!o->torch && o->python[i] != NO_ROW && o->within[o->python[i]])
			return below_function(o, o->python[i]);
		return o->node[s->parent];
	}
	forward = forward_of(all, s);
	node = forward == NO_ROW ? given_stack(o, i) : o->node[forward];
	if (o->torch)
		return node;
	return node == FOLD_ROOT ? own_stack(o, i)
				 : fold_below(o->f, node, ORIGIN_BACKWARD);
}

/* ---- the whole ---- */

/* A parent comes before what it holds: it is known by then whether it lies in a
 * backward pass. */
static void outside_stacks(struct origin *o)
{
	const struct model *m = o->m;

	for (uint32_t i = 0; i < m->slices_n; i++) {
		uint32_t parent = m->slices[i].parent;

		o->within[i] =
			(parent != NO_ROW && o->within[parent]) || is_backward(o, i);
		if (!o->within[i])
			o->node[i] = own_stack(o, i);
	}
}

/* Forward operators have their stacks by now, and give them to backward ones. */
static bool inside_stacks(struct origin *o)
{
	struct numbered all = { 0 };
	bool fine = number_slices(&all, o);

	for (uint32_t i = 0; fine && i < o->m->slices_n; i++)
		if (o->within[i])
			o->node[i] = backward_stack(o, &all, i);
	free(all.rows);
	return fine;
}

/* Names and stacks become frames only when a slice needs them. */
bool origin_make(struct origin *o, const struct model *m, struct fold *f,
		 enum origin_of of)
{
	size_t texts = m->texts.n * sizeof(*o->frames);
	bool fine;

	*o = (struct origin){ .m = m,
			      .f = f,
			      .torch = of == ORIGIN_TORCH,
			      .lines = of != ORIGIN_FRAMES && m->ours };
	o->node = calloc(m->slices_n + 1, sizeof(*o->node));
	o->python = malloc((m->slices_n + 1) * sizeof(*o->python));
	o->within = calloc(m->slices_n + 1, sizeof(*o->within));
	o->frames = malloc(texts + 1);
	o->stacks = malloc(texts + 1);
	fine = o->node && o->python && o->within && o->frames && o->stacks;
	if (fine) {
		memset(o->frames, 0xff, texts);
		memset(o->stacks, 0xff, texts);
		find_functions(o);
		outside_stacks(o);
		fine = inside_stacks(o) && !f->full;
	}
	for (size_t i = 0; fine && i < m->slices_n; i++)
		o->any |= o->node[i] != FOLD_ROOT;
	if (!fine)
		origin_free(o);
	return fine;
}

void origin_free(struct origin *o)
{
	free(o->node);
	free(o->python);
	free(o->within);
	free(o->frames);
	free(o->stacks);
	*o = (struct origin){ 0 };
}
